/**
 * A shop on a simulated node, whose final blocks are compared with its database by the real parts.
 */
import Sqlite from 'better-sqlite3';
import { compareNetwork } from '../../../indexers/comparison.ts';
import type { Chain, Family, Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import type { BlockComparison } from '../../../src/database/blocks.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { type Order, openNodeShop } from '../../support/indexed-shop.ts';
import { until } from '../../support/until.ts';

const FINAL_BLOCKS = 5;
const PATIENCE_MS = 1_000;

export type ComparisonBench = Awaited<ReturnType<typeof openComparisonBench>>;

/** Starts the node, the database and the indexer, and waits until blocks are final. */
export async function openComparisonBench(family: Family) {
  const shop = await openNodeShop(family, { node: { finalityDistance: FINAL_BLOCKS }, network: { name: family } });
  const { node: own, network, mine } = shop;
  const raw = new Sqlite(shop.temp.file);
  const [token] = network.tokens;
  let orders = 0;
  shop.start();
  await shop.isIn('following');

  const floor = async (): Promise<number> => (await shop.status())?.floor ?? 0;

  /** Mines until everything so far is final, and waits until the follower knows. */
  async function settle(): Promise<number> {
    const { number } = own.world.tip();
    mine(FINAL_BLOCKS + 1);
    await shop.level();
    await until('the blocks are final', async () => (await floor()) >= number);
    return number;
  }

  return {
    own,
    shop,
    network,
    raw,
    settle,
    floor,
    mine,
    units: (whole: number) => BigInt(whole) * 10n ** BigInt(token?.decimals ?? 0),
    order: (): Promise<Order> => shop.order(`order-${orders++}`),
    pay: (order: Order, units: bigint) => own.pay(order.address, units),
    /** Compares what is due, as at night. @returns what is known afterwards */
    async night(
      through: (node: Node) => Node = (node) => node,
      stopping = new AbortController(),
    ): Promise<BlockComparison | null> {
      const log = openLog('comparison', 'silent');
      const own = chains[family];
      const node: Chain['node'] = async () => {
        const { openNode } = await own.node();
        return { openNode: (options) => through(openNode(options)) };
      };
      const parts = { network, chain: { ...own, node }, database: shop.database, clock: systemClock, log };
      await compareNetwork({ ...parts, patienceMs: PATIENCE_MS }, stopping.signal);
      return (await shop.database.blocks.listComparisons())[0] ?? null;
    },
    async close(): Promise<void> {
      raw.close();
      await shop.close();
    },
  };
}
