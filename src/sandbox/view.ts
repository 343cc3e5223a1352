/**
 * The part of a world that a node shows.
 */
import type { World } from './world.ts';

export type View = Pick<World, 'tip' | 'finalized' | 'at' | 'byHash' | 'floor'>;
