/**
 * Watches a simulated chain and remembers what an indexer could have known: each block that ever was canonical, even
 * if the node has lost it since, how deep it was, and whether the chain ever called it final. A payment
 * that was confirmed without this was confirmed too early.
 */
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import type { World } from '../simulated/world.ts';

export type Witness = ReturnType<typeof watchWorld>;

/** Depths are distinguished down to this; far more than any confirmation policy requires. */
const DEPTH_MAX = 100;

export function watchWorld(world: World) {
  const blocks = new Map<string, WorldBlock>();
  const deepest = new Map<string, number>();
  const final = new Set<string>();
  function look(): void {
    const tip = world.tip().number;
    const finalNumber = world.finalized().number;
    for (let number = tip; number >= Math.max(0, tip - DEPTH_MAX); number--) {
      const block = world.at(number);
      if (!block) continue;
      blocks.set(block.hash, block);
      deepest.set(block.hash, Math.max(deepest.get(block.hash) ?? 0, tip - number + 1));
      if (number <= finalNumber) final.add(block.hash);
    }
  }
  look();
  world.onChange(look);
  return {
    /** Returns the block with this hash if it ever was canonical. */
    block: (hash: string) => blocks.get(hash),
    /** Returns the largest depth (the block itself counts one) while the block was canonical; 0 if it never was. */
    deepest: (hash: string) => deepest.get(hash) ?? 0,
    wasFinal: (hash: string) => final.has(hash),
  };
}
