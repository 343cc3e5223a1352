/**
 * Keeps the table of watched addresses and the set of our own wallets up to date with the database. Both only grow, so
 * their newest entry is the place to read on from.
 */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { PoolKey } from '../../src/database/addresses.ts';
import type { Database } from '../../src/database/database.ts';
import type { AddressTable } from './address-table.ts';

const PAGE = 10_000;

export type Watch = ReturnType<typeof createWatch>;

/**
 * Creates the watch of a network. It loads the addresses of the network's pool, which every network of the family and
 * mode shares, and adds the keys of our own wallets to `own`.
 */
export function createWatch(
  database: Database,
  network: PoolKey & Readonly<{ key: NetworkKey }>,
  table: AddressTable,
  own: Set<string>,
) {
  let through = 0;
  let ownWallet = 0;
  let seenChange: number | null = null;

  async function loadWallets(): Promise<void> {
    for (const { seq, key } of await database.wallets.listOwn(network.key)) {
      own.add(key);
      ownWallet = Math.max(ownWallet, seq);
    }
  }

  return {
    /** Returns the `seq` of the newest address that is in the table. */
    through: () => through,
    /** Returns the `seq` of the newest of our own wallets that are in the set. */
    ownWallet: () => ownWallet,
    /**
     * Loads the entries added since the last load. Without `force`, it asks only if something was committed in between.
     */
    async load(force: boolean): Promise<void> {
      const change = database.changeCount();
      if (change === seenChange && !force) return;
      for (;;) {
        const page = await database.addresses.watchList(network, through, PAGE);
        for (const { key } of page) table.add(key);
        through = page.at(-1)?.seq ?? through;
        if (page.length < PAGE) break;
      }
      await loadWallets();
      seenChange = change;
    },
  };
}
