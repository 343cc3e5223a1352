/**
 * A world as a failing node shows it: the truth, or what the fault of the present request makes of it.
 */
import type { Family } from '../../src/chains/chain.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import { digest } from '../../src/sandbox/digest.ts';
import type { View } from '../../src/sandbox/world.ts';
import { CLOCK_BEHIND_S, type InjectedFault } from './faults.ts';
import type { World } from './world.ts';

/** Returns the world through faults. @param fault the one that hits the present request */
export function lyingWorld(world: World, family: Family, fault: () => InjectedFault | null): World {
  const view = () => viewThrough(world, family, fault());
  return {
    ...world,
    tip: () => view().tip(),
    finalized: () => view().finalized(),
    at: (number) => view().at(number),
    byHash: (hash) => view().byHash(hash),
    floor: () => view().floor(),
    submit(transaction, replaces) {
      const kind = fault()?.kind;
      if (kind === 'send_dropped') return;
      world.submit(kind === 'send_failed' ? { ...transaction, succeeded: false } : transaction, replaces);
    },
  };
}

function viewThrough(world: World, family: Family, fault: InjectedFault | null): View {
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
    case 'sibling_content': {
      const view = distorted(world, (block) => siblingOf(world, block) ?? world.byHash(block.parent) ?? block);
      // A Solana node names its blocks by slot, and looks only their parents up by hash.
      return family === 'solana' ? { ...view, byHash: world.byHash } : view;
    }
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

/** Returns another block of the same height, if one is kept. */
const siblingOf = (world: World, { number, hash }: WorldBlock): WorldBlock | undefined =>
  [...world.kept()].find((other) => other.number === number && other.hash !== hash);

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
