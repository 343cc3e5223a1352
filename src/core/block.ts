/**
 * Blocks as the follower knows them. The hash identifies a block, the parent hash links it, and numbers may skip.
 */

/** A block. `number` is the height (EVM, TRON) or slot (Solana). `timeS` is the block's own clock in Unix seconds. */
export type BlockRef = Readonly<{ hash: string; parent: string; number: number; timeS: number }>;

/** The newest canonical blocks in the database, oldest first, each the parent of the next. */
export type Tail = readonly BlockRef[];

/** A run of blocks of a node's own chain, oldest first, each the parent of the next. */
export type Branch = readonly BlockRef[];

/** Returns true when each block of `run` is the parent of the next and numbers rise. An empty run is linked. */
export function isLinked(run: readonly BlockRef[]): boolean {
  for (let at = 1; at < run.length; at++) {
    const below = run[at - 1];
    const above = run[at];
    if (!below || !above || above.parent !== below.hash || above.number <= below.number) return false;
  }
  return true;
}
