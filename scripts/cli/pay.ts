/**
 * Pays a session with simulated money.
 */

import { permanent } from '../../src/core/fault.ts';
import { formatUnits, MINOR_DECIMALS, parToUnitsCeil } from '../../src/core/money.ts';
import type { PaymentOption } from '../../src/database/column-values.ts';
import type { Session } from '../../src/database/session.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { payInSandbox } from '../../src/sandbox/operator/control.ts';
import { type Command, notFound, recordAnswer, textOption } from './command.ts';

export const pay: Command = {
  name: 'pay',
  args: '<session>',
  summary: 'Pay in the sandbox what is still due of a session.',
  options: { network: { value: 'NAME', help: 'the sandbox network to pay on (default: the first that it offers)' } },
  async run(input, { database, config }) {
    const id = parseSessionId(input.args[0] ?? '');
    const session = id && (await database.sessions.find(id));
    if (!session) throw notFound(`there is no session ${input.args[0]}; check the id (cs_ and 26 characters)`);
    const option = optionOn(textOption(input, 'network'), session);
    if (!config.networks.find(({ key }) => key === option.networkKey)?.sandbox) {
      throw permanent('refused', `${option.networkKey} is a real network: this command sends only simulated money`);
    }
    const units = unitsDue(session, option);
    const to = optionAddress(session, option);
    const hash = await payInSandbox(config.dataDir, option.network, { to, symbol: option.currency, units });
    const amount = formatUnits(units, option.decimals, MINOR_DECIMALS);
    const { network, currency } = option;
    return recordAnswer({ transaction_hash: hash, network, currency, amount, address: to });
  },
};

/** Returns the first way to pay on a network, or on any. @throws Fault permanent `not_found` */
function optionOn(network: string | undefined, { options }: Session): PaymentOption {
  const option = options.find((one) => one.network === (network ?? one.network));
  if (option) return option;
  const offered = [...new Set(options.map((one) => one.network))].join(', ');
  throw notFound(`the session can be paid on ${offered} only`);
}

/** @throws Fault permanent `refused` if nothing is due */
function unitsDue({ terms, standing }: Session, { decimals }: PaymentOption): bigint {
  const duePar = terms.duePar - standing.seenPar - standing.confirmedPar;
  if (duePar > 0n) return parToUnitsCeil(duePar, decimals);
  throw permanent('refused', 'nothing of the session is due any more');
}
