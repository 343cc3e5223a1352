/**
 * Simulates events of a session on the sandbox's chains: an underpayment, a block that is reorganised away, a deadline
 * that passes.
 */

import type { Config } from '../../config/config.ts';
import { usualDepthMax } from '../../core/credit-policy.ts';
import { permanent } from '../../core/fault.ts';
import { parToUnitsCeil } from '../../core/money.ts';
import { type Currency, currencies } from '../../core/transfer.ts';
import type { PaymentOption } from '../../database/column-values.ts';
import type { Sessions } from '../../database/database.ts';
import type { Session } from '../../database/session.ts';
import type { Clock } from '../../lib/clock.ts';
import { optionAddress } from '../../payments/option.ts';
import type { Simulate } from '../../payments/simulation.ts';
import { mineInSandbox, payInSandbox, reorgInSandbox } from './control.ts';

/** Some nodes show a final block this much later than it is usual. */
const FINALITY_BLOCKS = 2;

const refused = (why: string) => permanent('simulation_refused', why);

export function createSimulator(
  deps: Readonly<{ sessions: Sessions; config: Pick<Config, 'dataDir' | 'networks'>; clock: Clock }>,
): Simulate {
  const { sessions, clock } = deps;
  const { dataDir, networks } = deps.config;

  async function cutShort({ id }: Session): Promise<void> {
    if (!(await sessions.cutShort(id, clock.nowMs()))) throw refused('The session has ended already.');
  }

  return async (session, option, simulation) => {
    const { network } = option;
    const config = networks.find(({ key }) => key === option.networkKey);
    if (!config?.sandbox) throw refused(`${network} is not a simulated network.`);
    const to = optionAddress(session, option);
    const due = unitsDue(session, option);
    const pay = (units: bigint, symbol: Currency = option.currency) =>
      payInSandbox(dataDir, network, { to, symbol, units });
    switch (simulation) {
      case 'pay_exact':
        return [await pay(due)];
      case 'pay_under':
        return [await pay((due + 1n) / 2n)];
      case 'pay_over':
        return [await pay((due * 5n) / 4n)];
      case 'pay_twice':
        return [await pay(due), await pay(due)];
      case 'pay_late':
        await cutShort(session);
        return [await pay(due)];
      case 'pay_wrong_token': {
        const other = currencies.find((one) => !session.terms.accepts.includes(one));
        if (!other)
          throw refused('This session accepts every token. To try a wrong one, create a session in USDT or USDC.');
        const token = config.tokens.find(({ symbol }) => symbol === other);
        if (!token) throw refused(`${network} has no ${other}. Choose another network.`);
        return [await pay(parToUnitsCeil(session.terms.duePar, token.decimals), token.symbol)];
      }
      case 'mine':
        await mineInSandbox(dataDir, network, usualDepthMax(config.confirmations) + FINALITY_BLOCKS);
        return [];
      case 'reorg': {
        const seen = session.payments.filter(({ state, networkKey }) => state === 'seen' && networkKey === config.key);
        if (seen.length === 0) throw refused(`No payment on ${network} is waiting for confirmation. Pay first.`);
        // One more than was counted: a block may have been added since.
        await reorgInSandbox(dataDir, network, Math.max(...seen.map(({ confirmations }) => confirmations)) + 1);
        return [];
      }
      case 'expire':
        await cutShort(session);
        return [];
    }
  };
}

/** Returns what is still due, or the whole amount again if nothing is. */
function unitsDue({ terms, standing }: Session, { decimals }: PaymentOption): bigint {
  const left = terms.duePar - standing.seenPar - standing.confirmedPar;
  return parToUnitsCeil(left > 0n ? left : terms.duePar, decimals);
}
