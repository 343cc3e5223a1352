/**
 * Limits on what leaves for refunds and returns, for a store or a network: by amount and by number, in an hour and in a
 * UTC day. A payout counts when its first attempt is allotted, once, and is not taken off again when it fails.
 * @module
 */
import { formatUnits, MINOR_DECIMALS } from './money.ts';

/** What counts is added up in steps of this length, so that a look at a window costs the same, however much left. */
export const STEP_MS = 300_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Null: no limit. Amounts are in minor units of stablecoin, whichever it is. */
export type PayoutLimit = Readonly<{
  hourMinor: bigint | null;
  dayMinor: bigint | null;
  hourCount: number | null;
  dayCount: number | null;
}>;

export const noLimit: PayoutLimit = { hourMinor: null, dayMinor: null, hourCount: null, dayCount: null };

/** What was paid out in the step that begins at `atMs`. */
export type SpentStep = Readonly<{ atMs: number; amountMinor: bigint; count: number }>;

/** What was paid out in the last hour and in this UTC day. */
export type Spent = Readonly<{ hourMinor: bigint; dayMinor: bigint; hourCount: number; dayCount: number }>;

/** `untilMs`: when there is room, if nothing is paid before; null: never, because it is more than the whole limit. */
export type LimitHold = Readonly<{ period: 'hour' | 'day'; untilMs: number | null }>;

/** Returns the beginning of the step that a time is in. */
export const stepOf = (atMs: number): number => atMs - (atMs % STEP_MS);

const startOfDay = (nowMs: number): number => nowMs - (nowMs % DAY_MS);
/** The steps that the last hour touches count as a whole. */
const startOfHour = (nowMs: number): number => stepOf(nowMs - HOUR_MS);

/** Returns from when on steps are needed to judge a payout now. */
export const spentSince = (nowMs: number): number => Math.min(startOfDay(nowMs), startOfHour(nowMs));

/** Adds up steps. Those after now count too: the clock was set back, and what it said before must not be forgotten. */
export function sumSpent(steps: readonly SpentStep[], nowMs: number): Spent {
  const hour = sum(steps, startOfHour(nowMs));
  const day = sum(steps, startOfDay(nowMs));
  return { hourMinor: hour.minor, hourCount: hour.count, dayMinor: day.minor, dayCount: day.count };
}

/** Returns why a payout of this amount must wait, or null. Where both periods are full, the one that takes longer. */
export function judgeLimit(
  limit: PayoutLimit,
  steps: readonly SpentStep[],
  amountMinor: bigint,
  nowMs: number,
): LimitHold | null {
  const day = wait(
    limit.dayMinor,
    limit.dayCount,
    steps,
    amountMinor,
    startOfDay(nowMs),
    (atMs) => startOfDay(atMs) + DAY_MS,
  );
  if (day !== undefined) return { period: 'day', untilMs: day };
  const hour = wait(
    limit.hourMinor,
    limit.hourCount,
    steps,
    amountMinor,
    startOfHour(nowMs),
    (atMs) => atMs + STEP_MS + HOUR_MS,
  );
  return hour === undefined ? null : { period: 'hour', untilMs: hour };
}

function sum(steps: readonly SpentStep[], fromMs: number): Readonly<{ minor: bigint; count: number }> {
  const inside = steps.filter(({ atMs }) => atMs >= fromMs);
  return {
    minor: inside.reduce((total, { amountMinor }) => total + amountMinor, 0n),
    count: inside.reduce((total, { count }) => total + count, 0),
  };
}

/**
 * @param leavesAt when a step is no longer counted
 * @returns when there is room; null: never; undefined: now
 */
function wait(
  mostMinor: bigint | null,
  mostCount: number | null,
  steps: readonly SpentStep[],
  amountMinor: bigint,
  fromMs: number,
  leavesAt: (atMs: number) => number,
): number | null | undefined {
  const fits = (minor: bigint, count: number): boolean =>
    (mostMinor === null || minor + amountMinor <= mostMinor) && (mostCount === null || count + 1 <= mostCount);
  if (!fits(0n, 0)) return null;
  let { minor, count } = sum(steps, fromMs);
  if (fits(minor, count)) return undefined;
  const counted = steps.filter(({ atMs }) => atMs >= fromMs).sort((a, b) => a.atMs - b.atMs);
  for (const step of counted) {
    minor -= step.amountMinor;
    count -= step.count;
    if (fits(minor, count)) return leavesAt(step.atMs);
  }
  return null;
}

const minorText = (minor: bigint): string => formatUnits(minor, MINOR_DECIMALS, MINOR_DECIMALS);

/** Describes one period of a limit and what of it is used, such as "120.00 of 500.00, 3 of 20 payouts". */
export function limitText(limit: PayoutLimit, spent: Spent, period: 'hour' | 'day'): string {
  const [mostMinor, mostCount, minor, count] =
    period === 'hour'
      ? [limit.hourMinor, limit.hourCount, spent.hourMinor, spent.hourCount]
      : [limit.dayMinor, limit.dayCount, spent.dayMinor, spent.dayCount];
  const amount = `${minorText(minor)}${mostMinor === null ? '' : ` of ${minorText(mostMinor)}`}`;
  return `${amount}, ${count}${mostCount === null ? '' : ` of ${mostCount}`} payouts`;
}

/** Says why a payout waits for a limit, and what ends that. @param scope such as "store st_1" */
export function holdText(
  scope: string,
  option: string,
  { period, untilMs }: LimitHold,
  amountMinor: bigint,
  used: string,
): string {
  const window = period === 'hour' ? 'in the last hour' : 'in this UTC day';
  const goesOn =
    untilMs === null
      ? 'It is more than the whole limit, so it does not go on by itself'
      : `It goes on by itself from ${new Date(untilMs).toISOString().slice(0, 16)}Z on, if there is room then`;
  return (
    `${minorText(amountMinor)} more would exceed the limit of ${scope} (${used} ${window}). ${goesOn}. Raise the limit ` +
    `with \`quayside payouts limits ${option}\`, or have an approver order this one with \`quayside refunds request\`.`
  );
}
