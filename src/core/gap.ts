/** Gaps: blocks that a network's follower passes over without having read them. */

/**
 * One gap; open until its blocks were read. `holdsPayouts`: money out is frozen on the network while it is open: an
 * earlier run may have paid something there that is not known here.
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
 * Blocks, inclusive, that were all read again. `doubtful` are the numbers at which the node does not show what is held,
 * so that what it lacks was not all added.
 */
export type GapReading = Readonly<{ from: number; to: number; doubtful: readonly number[] }>;

/** Returns the gaps that are open. */
export const openGaps = (gaps: readonly BlockGap[]): readonly BlockGap[] =>
  gaps.filter(({ closedAtMs }) => closedAtMs === null);

const contains = ({ from, to }: BlockGap, number: number): boolean => from <= number && number <= to;

/** Returns the gap, open or closed, that contains a number and reaches highest; null if there is none. */
export const gapAt = (gaps: readonly BlockGap[], number: number): BlockGap | null =>
  gaps.reduce<BlockGap | null>(
    (best, gap) => (contains(gap, number) && (best === null || gap.to > best.to) ? gap : best),
    null,
  );

/** Returns the gaps that are left when the chain is read again between two numbers. */
export const gapsOutside = (gaps: readonly BlockGap[], above: number, below: number): BlockGap[] =>
  gaps.filter(({ from, to }) => from <= above || to >= below);

/** Returns the gaps that are left when what is above a number is read again: none reaches beyond it. */
export const gapsThrough = (gaps: readonly BlockGap[], through: number): BlockGap[] =>
  gaps.filter(({ from }) => from <= through).map((gap) => ({ ...gap, to: Math.min(gap.to, through) }));

/** Returns whether a reading closes a gap: it is open, lies within the blocks, and none in it is doubtful. */
export const closesGap = ({ from, to, doubtful }: GapReading, gap: BlockGap): boolean =>
  gap.closedAtMs === null && from <= gap.from && gap.to <= to && !doubtful.some((number) => contains(gap, number));
