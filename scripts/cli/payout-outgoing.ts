/**
 * Shows what left our own wallets without a payout of ours.
 * @module
 */

import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import { type Command, moment, wholeOption } from './command.ts';
import { networkOf } from './network-name.ts';
import { table } from './table.ts';

const LISTED_MAX = 1000;

export const payoutsOutgoing: Command = {
  name: 'payouts outgoing',
  args: ['network'],
  summary: 'List transfers out of the refund and gas wallets that no payout explains, and those of the treasury.',
  options: { limit: { value: 'N', help: `at most N transfers (50), up to ${LISTED_MAX}` } },
  notes: [
    'open: not final or not judged yet. foreign: nothing explains it, and it froze money out. known: `payouts thaw` was',
    'run since. recorded: the treasury’s own, or to or for another wallet of ours. `payouts list` shows what payouts explain.',
  ],
  async run(input, { database, config }) {
    const network = networkOf(config.networks, input.args[0] ?? '');
    const { format } = chains[network.family].address;
    const limit = wholeOption(input, 'limit', 1, LISTED_MAX, 50);
    const transfers = await database.listOutgoing(network.key, limit);
    const amountOf = ({ currency, units }: (typeof transfers)[number]) =>
      coinText(config.networks, network.key, currency, units);
    const rows = transfers.map((one) => [
      one.state,
      one.role,
      amountOf(one),
      format(one.to),
      String(one.blockNumber),
      one.tx,
      moment(one.seenAtMs),
    ]);
    return {
      json: transfers.map((one) => ({
        state: one.state,
        wallet: one.role,
        from: format(one.from),
        to: format(one.to),
        amount: amountOf(one),
        units: one.units.toString(),
        currency: one.currency,
        block: one.blockNumber,
        transaction_hash: one.tx,
        seen_at: moment(one.seenAtMs),
      })),
      lines: table([['STATE', 'WALLET', 'AMOUNT', 'TO', 'BLOCK', 'TRANSACTION', 'SEEN'], ...rows]),
    };
  },
};
