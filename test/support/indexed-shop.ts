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
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Session } from '../../src/database/session.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { addressKeyOf } from './address-keys.ts';
import { merchantStore, newSession } from './new-session.ts';
import { type IndexerChange, type RunningIndexer, startIndexer, statusOf } from './running-indexer.ts';
import { type SimulatedNode, type SimulatedNodeOptions, startSimulatedNode, writtenBy } from './simulated-node.ts';
import { openTempDatabase } from './temp-database.ts';
import { testNetwork } from './test-network.ts';
import { until } from './until.ts';

const AMOUNT_MINOR = 1000;

/** `address` is the key that the order is to be paid at. */
export type Order = Readonly<{ address: string; read(): Promise<Session> }>;

export type IndexedShop = Awaited<ReturnType<typeof openIndexedShop>>;

/**
 * @param addresses how many orders there may be
 * @param settings the store's
 */
export async function openIndexedShop(
  network: NetworkConfig,
  addresses = 50,
  settings: Parameters<typeof merchantStore>[0] = {},
) {
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
    start(change?: IndexerChange) {
      const indexer = startIndexer(database, network, change);
      running.push(indexer);
      return indexer;
    },
    status,
    /** Waits until the network is in a state, for a reason with this code. */
    isIn: (state: string, code: string | null = null) =>
      until(`the network is ${state} ${code ?? ''}`, async () => {
        const now = await status();
        return now?.state === state && (now.reason?.code ?? null) === code;
      }),
    /** Waits until the store holds this block as the newest. */
    holds: (hash: string) => until(`block ${hash} is held`, async () => (await status())?.tipHash === hash),
    /** Creates a session over 10.00, now or at a later time of the clock. */
    async order(name: string, laterMs = 0): Promise<Order> {
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
    /** Stops every indexer and removes the database. */
    async close() {
      await Promise.allSettled(running.map((indexer) => indexer.stop()));
      temp.close();
    },
  };
}

/** A shop on a simulated node of its own. */
export type NodeShop = Awaited<ReturnType<typeof openNodeShop>>;

export type NodeShopOptions = Readonly<{
  node?: Partial<SimulatedNodeOptions>;
  network?: Partial<NetworkConfig>;
  /** Where the indexer finds its nodes, if not at the node's own addresses. */
  placeOf?: (node: SimulatedNode) => Promise<Partial<NetworkConfig>>;
  /** The chain's first blocks. */
  blocks?: number;
  settings?: Parameters<typeof openIndexedShop>[2];
}>;

const ownPlace = async ({ family, url, httpUrl }: SimulatedNode): Promise<Partial<NetworkConfig>> => ({
  ...(family === 'evm' && { name: 'ethereum' }),
  ...(family === 'solana' && { rpcUrl: httpUrl, xpub: null }),
  url,
});

/** Opens the shop; its indexer is not started. The node is closed with it. */
export async function openNodeShop(family: Family, options: NodeShopOptions = {}) {
  const { node: chain, network, placeOf = ownPlace, blocks = 30, settings } = options;
  const node = await startSimulatedNode({ family, seed: 'shop', ...chain });
  const place = await placeOf(node);
  const shop = await openIndexedShop(testNetwork({ name: family, family, ...place, ...network }), 50, settings);
  const mine = (count = 1): void => {
    for (let left = count; left > 0; left--) node.world.mine();
  };
  mine(blocks);
  return {
    ...shop,
    node,
    mine,
    /** Pays an order this many cents of a token, the first one by default. @returns the transaction's id */
    pay({ address }: Pick<Order, 'address'>, cents: number, token: 0 | 1 = 0): string {
      const { address: contract = '', decimals = 0 } = shop.network.tokens[token] ?? {};
      const units = BigInt(cents) * 10n ** BigInt(decimals - 2);
      return node.pay(address, units, 'direct', chains[family].address.parse(contract) ?? '');
    },
    /** Waits until the database holds the node's newest block. */
    level: () => shop.holds(writtenBy[family].hash(node.world.tip().hash)),
    async close() {
      await shop.close();
      await node.close();
    },
  };
}

/** Runs a test with such a shop, closed even if the test fails. */
export async function inNodeShop(
  family: Family,
  options: NodeShopOptions,
  play: (shop: NodeShop) => Promise<void>,
): Promise<void> {
  const shop = await openNodeShop(family, options);
  try {
    await play(shop);
  } finally {
    await shop.close();
  }
}
