/**
 * Watches a simulated chain and remembers what an indexer could have known: how deep each block ever was while it was
 * canonical, and whether the chain ever called it final. What was confirmed without this was confirmed too early.
 *
 * @module
 */
import type { World } from '../../src/sandbox/world.ts';

export interface Witness {
  /**
   * Returns the largest depth (the block itself counts one) that the block had while it was canonical; 0 if it never
   * was.
   */
  deepest(hash: string): number;
  wasFinal(hash: string): boolean;
}

/** Depths are distinguished down to this; far more than any confirmation policy requires. */
const DEPTH_MAX = 100;

export function watchWorld(world: World): Witness {
  const deepest = new Map<string, number>();
  const final = new Set<string>();
  function look(): void {
    const tip = world.tip().number;
    const finalNumber = world.finalized().number;
    for (let number = tip; number >= Math.max(0, tip - DEPTH_MAX); number--) {
      const block = world.at(number);
      if (!block) continue;
      deepest.set(block.hash, Math.max(deepest.get(block.hash) ?? 0, tip - number + 1));
      if (number <= finalNumber) final.add(block.hash);
    }
  }
  look();
  world.onChange(look);
  return { deepest: (hash) => deepest.get(hash) ?? 0, wasFinal: (hash) => final.has(hash) };
}
