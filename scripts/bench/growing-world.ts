/**
 * A simulated chain that has grown during an outage.
 */
import type { BlockRef } from '../../src/core/block.ts';
import type { Token } from '../../src/core/transfer.ts';
import { createWorld, type World, type WorldOptions } from '../../test/simulated/world.ts';
import { addressKeyOf } from '../../test/support/address-keys.ts';

/** Blocks that a network's node shall serve. */
export type Serving = Readonly<{ blocks: number; blockTimeMs: number; chainId: string; tokens: readonly Token[] }>;

/** A node's URL, the block that the indexer already has, the height of the head, and the payments between them. */
export type Served = Readonly<{ url: string; from: BlockRef; to: number; paid: number }>;

/** How many addresses the indexer watches. */
export const ADDRESSES_WATCHED = 5_000;
const PAID_EVERY_BLOCKS = 20;
/** Blocks below the one to start from. */
const EARLIER_BLOCKS = 8;

/** How the chain grows. `others`: how many payments between strangers each block has. */
type Growth = Readonly<{ blocks: number; blockTimeMs: number; startS: number; others?: number }>;

/** Returns the world, the block below the `blocks` to read, and how many payments these contain. */
export function growWorld(
  options: Omit<WorldOptions, 'clock' | 'windowBlocks'>,
  { blocks, blockTimeMs, startS, others = 1 }: Growth,
): { world: World; from: BlockRef; paid: number } {
  let nowMs = startS * 1000;
  const clock = { nowMs: () => nowMs };
  const [token = ''] = options.tokens;
  const world = createWorld({ ...options, clock, windowBlocks: 2 * (blocks + EARLIER_BLOCKS) });
  const mine = (): BlockRef => {
    nowMs += blockTimeMs;
    const { hash, parent, number, timeS } = world.mine(others);
    return { hash, parent, number, timeS };
  };
  for (let at = 1; at < EARLIER_BLOCKS; at++) mine();
  const from = mine();
  for (let at = 0; at < blocks; at++) {
    if (at % PAID_EVERY_BLOCKS === 0) {
      const to = addressKeyOf(at % ADDRESSES_WATCHED, options.keyBytes);
      world.pay({
        kind: 'direct',
        from: addressKeyOf(-1, options.keyBytes),
        outputs: [{ token, to, units: 1_000_000n }],
      });
    }
    mine();
  }
  return { world, from, paid: Math.ceil(blocks / PAID_EVERY_BLOCKS) };
}
