/**
 * An indexer on a simulated node whose time passes only when the test says so: it has polled, and has nothing more to
 * do, whenever `poll` returns.
 *
 *   await inPolledIndexer('solana', {}, async ({ mine, poll }) => {
 *     mine(1);
 *     await poll();
 *     …
 *   });
 */
import type { Family, Node } from '../../src/chains/chain.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type NodeShopOptions, openNodeShop } from './indexed-shop.ts';
import { lockstepClock } from './lockstep-clock.ts';
import { SLEEPERS } from './running-indexer.ts';
import { type SimulatedNode, writtenBy } from './simulated-node.ts';
import { until } from './until.ts';

const POLL_MS = 1000;
const RETRY_MS = 300;

export type PolledIndexer = Awaited<ReturnType<typeof openPolledIndexer>>;

/** Without a place of its own, the node is asked over HTTP. */
export type PolledOptions = Pick<NodeShopOptions, 'blocks' | 'network' | 'placeOf'> &
  Readonly<{ through?: (node: Node) => Node }>;

/** Returns the hash of a node's newest block, as its family writes it. */
export const tipOf = ({ family, world }: SimulatedNode): string => writtenBy[family].hash(world.tip().hash);

/** Starts both and waits until the indexer is at the head. */
export async function openPolledIndexer(
  family: Family,
  { network, through = (node) => node, ...options }: PolledOptions = {},
) {
  // Orders are made by the system's clock.
  const clock = lockstepClock(systemClock.nowMs());
  const shop = await openNodeShop(family, {
    placeOf: async (own) => ({ url: own.httpUrl }),
    ...options,
    node: { seed: 'own', clock },
    network: { pollMs: POLL_MS, ...network },
  });
  const { node: own, mine, close } = shop;
  const view = clock.view();
  const rest = () => until('the indexer is idle', () => view.asleep() >= SLEEPERS);
  shop.start({ clock: view, nodeClock: clock.view(), requestTimeoutMs: 20_000, through });
  // A call that fails before the connection is open is retried, once time passes.
  await until('the indexer is at the head', async () => {
    clock.advance(RETRY_MS);
    return (await shop.status())?.tipHash === tipOf(own);
  });
  await rest();
  return {
    clock,
    shop,
    /** The network's own node. */
    own,
    mine,
    /**
     * Lets the indexer poll this often, each time until there is nothing more to do; this much time passes in between.
     */
    async poll(times = 1, stepMs = POLL_MS) {
      for (let left = times; left > 0; left--) {
        clock.advance(stepMs);
        await rest();
      }
    },
    close,
  };
}

/** Runs a test with such an indexer, closed even if the test fails. */
export async function inPolledIndexer(
  family: Family,
  options: PolledOptions,
  play: (polled: PolledIndexer) => Promise<void>,
): Promise<void> {
  const polled = await openPolledIndexer(family, options);
  try {
    await play(polled);
  } finally {
    await polled.close();
  }
}
