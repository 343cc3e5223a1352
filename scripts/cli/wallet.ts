/**
 * The refund and gas wallets. The signer's policy names the ones that pay; no other process can choose one.
 * @module
 */
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { type Command, moment } from './command.ts';
import { table } from './table.ts';

export const walletList: Command = {
  name: 'wallet list',
  args: [],
  summary: 'Show the refund and gas wallets that pay, former ones, and what each holds.',
  options: {},
  async run(_input, { database, config }) {
    const wallets = (await database.listBalances()).map(({ network, role, key, isFormer, units, readAtMs }) => {
      const family = config.networks.find((one) => one.key === network)?.family;
      return {
        network,
        role,
        address: family ? chains[family].address.format(key) : key,
        former: isFormer === true,
        holds: Object.entries(units).map(([asset, held]) => coinText(config.networks, network, asset as Asset, held)),
        read_at: moment(readAtMs),
      };
    });
    const lines = table([
      ['network', 'wallet', 'address', 'holds', 'read'],
      ...wallets.map(({ network, role, address, former, holds, read_at }) => [
        network,
        former ? `former ${role}` : role,
        address,
        holds.join(', '),
        read_at,
      ]),
    ]);
    return {
      json: wallets,
      lines: wallets.length > 0 ? lines : ['no wallet was read yet: payouts need a signer (docs/money.md)'],
    };
  },
};
