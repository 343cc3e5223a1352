/**
 * Pays a session with simulated money.
 */

import { permanent } from '../../src/core/fault.ts';
import { formatUnits, MINOR_DECIMALS, parseUnits, parToUnitsCeil } from '../../src/core/money.ts';
import type { PaymentOption } from '../../src/database/column-values.ts';
import type { Sessions } from '../../src/database/database.ts';
import type { Session } from '../../src/database/session.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { payInSandbox } from '../../src/sandbox/operator/control.ts';
import { type Command, type Input, notFound, textOption, usage } from './command.ts';

export const pay: Command = {
  name: 'pay',
  args: '<session>',
  summary: 'Pay a session in the sandbox: by default the amount that is still due.',
  options: {
    network: { value: 'NAME', help: 'the sandbox network to pay on' },
    currency: { value: 'USDT|USDC', help: 'the stablecoin (default: the first that the network offers)' },
    amount: { value: '10.00', help: 'the amount to pay (default: what is still due)' },
  },
  needsSandbox: true,
  async run(input, { database, config }) {
    const session = await findSession(database.sessions, input.args[0] ?? '');
    const option = chooseOption(input, session);
    const network = config.networks.find(({ key }) => key === option.networkKey);
    if (!network?.sandbox) {
      throw permanent('refused', `${option.networkKey} is a real network: this command sends only simulated money`);
    }
    const units = readAmount(input, session, option);
    const to = optionAddress(session, option);
    const hash = await payInSandbox(config.dataDir, option.network, { to, symbol: option.currency, units });
    const amount = formatUnits(units, option.decimals, MINOR_DECIMALS);
    return {
      json: { transaction_hash: hash, network: option.network, currency: option.currency, amount, address: to },
      lines: [`paid ${amount} ${option.currency} on ${option.network} to ${to}`, `transaction ${hash}`],
    };
  },
};

/** Returns the session with an id. @throws Fault permanent `not_found` */
async function findSession(sessions: Sessions, text: string): Promise<Session> {
  const id = parseSessionId(text);
  const session = id && (await sessions.find(id));
  if (session) return session;
  throw notFound(`there is no session ${text}; check the id (cs_ and 26 characters) and the data directory`);
}

function chooseOption(input: Input, session: Session): PaymentOption {
  const network = textOption(input, 'network');
  const currency = textOption(input, 'currency');
  const offered = session.options.map((option) => `${option.currency} on ${option.network}`).join(', ');
  if (!network) throw usage(`--network is missing; the session can be paid in ${offered}`);
  const option = session.options.find((one) => one.network === network && (!currency || one.currency === currency));
  if (option) return option;
  throw notFound(`the session cannot be paid${currency ? ` in ${currency}` : ''} on ${network}, only in ${offered}`);
}

function readAmount(input: Input, { terms, standing }: Session, { decimals }: PaymentOption): bigint {
  const text = textOption(input, 'amount');
  if (text !== undefined) {
    const units = parseUnits(text, decimals);
    if (units !== null && units > 0n) return units;
    throw usage(`--amount is "${text}", expected a positive decimal number with at most ${decimals} decimals`);
  }
  const duePar = terms.duePar - standing.seenPar - standing.confirmedPar;
  if (duePar > 0n) return parToUnitsCeil(duePar, decimals);
  throw permanent('refused', 'nothing is due any more; use --amount to pay anyway');
}
