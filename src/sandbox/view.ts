/**
 * A node's view of the world: the truth, or what a fault makes of it.
 *
 * @module
 */
import type { WorldBlock } from './block-tree.ts';
import { CLOCK_BEHIND_S, type InjectedFault } from './faults.ts';
import { digest } from './random.ts';
import type { World } from './world.ts';

export type View = Pick<World, 'tip' | 'finalized' | 'at' | 'byHash' | 'floor'>;

export function viewThrough(world: World, fault: InjectedFault | null): View {
  switch (fault?.kind) {
    case 'lag':
      return lagging(world, fault.lagBlocks);
    case 'backwards':
      return lagging(world, 1 + (fault.roll % fault.lagBlocks));
    case 'restarted':
      return lagging(world, world.tip().number);
    case 'finality_ahead': {
      const tip = world.atOrBelow(Math.max(0, world.finalized().number - fault.lagBlocks));
      return { ...world, tip: () => tip };
    }
    case 'clock_behind':
      return distorted(world, (block) => ({ ...block, timeS: block.timeS - CLOCK_BEHIND_S }));
    case 'finality_missing':
      return { ...world, finalized: () => world.atOrBelow(0) };
    case 'finality_stalled':
      return { ...world, finalized: () => world.atOrBelow(1) };
    case 'unknown_block':
      return { ...world, at: () => undefined, byHash: () => undefined };
    case 'empty_content':
      return distorted(world, (block) => ({ ...block, transactions: [] }));
    case 'sibling_content':
      return distorted(world, (block) => world.siblings(block)[0] ?? world.byHash(block.parent) ?? block);
    case 'unlinked':
      return distorted(world, (block) => ({
        ...block,
        hash: digest('nowhere', block.hash),
        parent: digest('nowhere', block.parent),
      }));
    default:
      return world;
  }
}

function lagging(world: World, blocks: number): View {
  const lowered = (block: WorldBlock): WorldBlock => world.atOrBelow(Math.max(0, block.number - blocks));
  const tip = lowered(world.tip());
  const isShown = (block: WorldBlock | undefined) => (block && block.number <= tip.number ? block : undefined);
  return {
    tip: () => tip,
    finalized: () => lowered(world.finalized()),
    at: (number) => isShown(world.at(number)),
    byHash: (hash) => isShown(world.byHash(hash)),
    floor: world.floor,
  };
}

function distorted(world: World, distort: (block: WorldBlock) => WorldBlock): View {
  const through = (block: WorldBlock | undefined) => block && distort(block);
  return { ...world, at: (number) => through(world.at(number)), byHash: (hash) => through(world.byHash(hash)) };
}
