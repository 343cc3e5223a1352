/**
 * Pays a session with simulated money.
 */

import { permanent } from '../../src/core/fault.ts';
import { formatUnits, MINOR_DECIMALS, parseUnits, parToUnitsCeil } from '../../src/core/money.ts';
import type { PaymentOption } from '../../src/database/column-values.ts';
import type { Session } from '../../src/database/session.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { payInSandbox } from '../../src/sandbox/operator/control.ts';
import { type Command, type Input, notFound, recordAnswer, textOption, usage } from './command.ts';

export const pay: Command = {
  name: 'pay',
  args: '<session>',
  summary: 'Pay a session in the sandbox: by default the amount that is still due, in the first way that it offers.',
  options: {
    network: { value: 'NAME', help: 'the sandbox network to pay on' },
    currency: { value: 'USDT|USDC', help: 'the stablecoin' },
    amount: { value: '10.00', help: 'the amount to pay' },
  },
  needsSandbox: true,
  async run(input, { database, config }) {
    const id = parseSessionId(input.args[0] ?? '');
    const session = id && (await database.sessions.find(id));
    if (!session) throw notFound(`there is no session ${input.args[0]}; check the id (cs_ and 26 characters)`);
    const option = chooseOption(input, session);
    if (!config.networks.find(({ key }) => key === option.networkKey)?.sandbox) {
      throw permanent('refused', `${option.networkKey} is a real network: this command sends only simulated money`);
    }
    const units = readAmount(input, session, option);
    const to = optionAddress(session, option);
    const hash = await payInSandbox(config.dataDir, option.network, { to, symbol: option.currency, units });
    const amount = formatUnits(units, option.decimals, MINOR_DECIMALS);
    const { network, currency } = option;
    return recordAnswer({ transaction_hash: hash, network, currency, amount, address: to });
  },
};

/** Returns the first way to pay that fits. @throws Fault permanent `not_found` */
function chooseOption(input: Input, { options }: Session): PaymentOption {
  const { network, currency } = input.options;
  const fits = (one: PaymentOption) =>
    one.network === (network ?? one.network) && one.currency === (currency ?? one.currency);
  const option = options.find(fits);
  if (option) return option;
  const offered = options.map((one) => `${one.currency} on ${one.network}`).join(', ');
  throw notFound(`the session can be paid in ${offered} only`);
}

function readAmount(input: Input, { terms, standing }: Session, { decimals }: PaymentOption): bigint {
  const text = textOption(input, 'amount');
  const duePar = terms.duePar - standing.seenPar - standing.confirmedPar;
  const units = text === undefined ? parToUnitsCeil(duePar > 0n ? duePar : 0n, decimals) : parseUnits(text, decimals);
  if (units !== null && units > 0n) return units;
  throw usage(`the amount is ${text ?? 'paid'}; --amount takes a decimal number with at most ${decimals} decimals`);
}
