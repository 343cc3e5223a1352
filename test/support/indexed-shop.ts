/**
 * A shop that takes money on one network: a real database and a real indexer in the test's own process, and somebody's
 * node.
 *
 *   const shop = await openIndexedShop(network);
 *   shop.start();
 *   await shop.isIn('following');
 *   const order = await shop.order('any');      // 10.00, with an address of its own
 *   …
 *   await shop.close();
 */
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkStatus } from '../../src/database/network-health.ts';
import type { Session } from '../../src/database/session.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { addressKeyOf } from './address-keys.ts';
import { merchantStore, newSession } from './new-session.ts';
import { type IndexerChange, type RunningIndexer, startIndexer, statusOf } from './running-indexer.ts';
import { openTempDatabase, type TempDatabase } from './temp-database.ts';
import { until } from './until.ts';

const AMOUNT_MINOR = 1000;

/** `address` is the key that the order is to be paid at. */
export type Order = Readonly<{ address: string; read(): Promise<Session> }>;

export type IndexedShop = Readonly<{
  temp: TempDatabase;
  database: Database;
  network: NetworkConfig;
  start(change?: IndexerChange): RunningIndexer;
  status(): Promise<NetworkStatus | null>;
  /** Waits until the network is in a state, for a reason with this code. */
  isIn(state: string, code?: string | null): Promise<void>;
  /** Waits until the store holds this block as the newest. */
  holds(hash: string): Promise<void>;
  /** Creates a session over 10.00, now or at a later time of the clock. */
  order(name: string, laterMs?: number): Promise<Order>;
  /** Stops every indexer and removes the database. */
  close(): Promise<void>;
}>;

/**
 * @param addresses how many orders there may be
 * @param settings the store's
 */
export async function openIndexedShop(
  network: NetworkConfig,
  addresses = 50,
  settings: Parameters<typeof merchantStore>[0] = {},
): Promise<IndexedShop> {
  const temp = openTempDatabase();
  const { database } = temp;
  const { family, mode } = network;
  const { keyBytes } = chains[family].address;
  const merchant = merchantStore(settings);
  const running: RunningIndexer[] = [];
  await database.stores.create(merchant);
  const keys = Array.from({ length: addresses }, (_, n) => addressKeyOf(n, keyBytes));
  await database.addresses.add({ family, mode, source: 'test', firstIndex: 0, keys });
  const status = () => statusOf(database, network);
  return {
    temp,
    database,
    network,
    start(change) {
      const indexer = startIndexer(database, network, change);
      running.push(indexer);
      return indexer;
    },
    status,
    isIn: (state, code = null) =>
      until(`the network is ${state} ${code ?? ''}`, async () => {
        const now = await status();
        return now?.state === state && (now.reason?.code ?? null) === code;
      }),
    holds: (hash) => until(`block ${hash} is held`, async () => (await status())?.cursor?.hash === hash),
    async order(name, laterMs = 0) {
      const nowMs = systemClock.nowMs() + laterMs;
      const outcome = await database.sessions.create(
        newSession({ storeId: merchant.id, name, networks: [network], amountMinor: AMOUNT_MINOR, nowMs }),
      );
      if (!('session' in outcome)) throw new Error(`no session: ${outcome.kind}`);
      const { id, addresses: given } = outcome.session;
      return {
        address: given[family] ?? '',
        async read() {
          const session = await database.sessions.find(id);
          if (!session) throw new Error('a session does not vanish');
          return session;
        },
      };
    },
    async close() {
      await Promise.allSettled(running.map((indexer) => indexer.stop()));
      temp.close();
    },
  };
}
