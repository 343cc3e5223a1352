/** Gaps: blocks that a network's follower skips without having read them. */

/**
 * A gap, which is open until its blocks were read. With `holdsPayouts`, money out is frozen on the network while it is
 * open, because an earlier run may have paid something in these blocks.
 */
export type BlockGap = Readonly<{
  from: number;
  to: number;
  because: string;
  atMs: number;
  closedAtMs: number | null;
  holdsPayouts: boolean;
}>;

/**
 * Blocks, inclusive, that were all read again. `doubtful` are the numbers at which the node contradicts our blocks, so
 * that not every missing transfer was added.
 */
export type GapReading = Readonly<{ from: number; to: number; doubtful: readonly number[] }>;

/** Returns the gaps that are open. */
export const openGaps = (gaps: readonly BlockGap[]): readonly BlockGap[] =>
  gaps.filter(({ closedAtMs }) => closedAtMs === null);

const contains = ({ from, to }: BlockGap, number: number): boolean => from <= number && number <= to;

/**
 * Returns the gap, open or closed, that contains a number, and of several the one that reaches highest; null if there
 * is none.
 */
export const gapAt = (gaps: readonly BlockGap[], number: number): BlockGap | null =>
  gaps.reduce<BlockGap | null>(
    (best, gap) => (contains(gap, number) && (best === null || gap.to > best.to) ? gap : best),
    null,
  );

/** Returns the gaps that remain when the chain is read again between two numbers. */
export const gapsOutside = (gaps: readonly BlockGap[], above: number, below: number): BlockGap[] =>
  gaps.filter(({ from, to }) => from <= above || to >= below);

/** Returns the gaps that remain when all blocks above a number are read again. None reaches beyond the number. */
export const gapsThrough = (gaps: readonly BlockGap[], through: number): BlockGap[] =>
  gaps.filter(({ from }) => from <= through).map((gap) => ({ ...gap, to: Math.min(gap.to, through) }));

/** Returns whether a reading closes a gap, which must be open, lie within the blocks, and contain no doubtful one. */
export const closesGap = ({ from, to, doubtful }: GapReading, gap: BlockGap): boolean =>
  gap.closedAtMs === null && from <= gap.from && gap.to <= to && !doubtful.some((number) => contains(gap, number));
