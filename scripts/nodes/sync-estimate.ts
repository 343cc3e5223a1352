/**
 * How far a node is behind its chain, and when it will have caught up. Works in the chain's own time: the newest
 * block's age says how much is left, and how fast block times pass says how long that takes. That is the same for all
 * clients, whatever they call their progress. Pure.
 */

/** One look at a node. */
export type Sample = Readonly<{
  atMs: number;
  number: number;
  /** The newest block's own time. */
  timeS: number;
  /** Null if the node does not say. */
  peers: number | null;
  /** The node's stage, if the age of its newest block says nothing about how long that takes; otherwise null. */
  phase: string | null;
}>;

export type Estimate = Readonly<{
  state: 'ready' | 'catching up' | 'not catching up' | 'measuring' | 'syncing';
  behindS: number;
  /** Seconds of the chain that are read in each second; null until it is known. */
  rate: number | null;
  blocksPerS: number | null;
  /** From the fastest and slowest part of the time seen; null: unknown. `maxMs` is null if it may never end. */
  left: Readonly<{ minMs: number; maxMs: number | null }> | null;
}>;

/** Samples that are older say nothing about the present. */
export const WINDOW_MS = 600_000;
/** A node is ready once it has kept up for this long, or for as long as it was looked at. */
const READY_MS = 120_000;
const PARTS_MAX = 6;
/** A chain that gains less than this on the clock does not arrive. */
const RATE_MIN = 1.05;
const BEHIND_BLOCKS = 3;
const BEHIND_S_MIN = 30;

const behindS = ({ atMs, timeS }: Sample): number => Math.max(0, Math.floor(atMs / 1000) - timeS);

const rateOf = (first: Sample, last: Sample): number => ((last.timeS - first.timeS) * 1000) / (last.atMs - first.atMs);

/** Returns the rates of up to six parts of the time, oldest first. */
function partRates(samples: readonly Sample[]): number[] {
  const steps = samples.length - 1;
  const parts = Math.min(PARTS_MAX, steps);
  return Array.from({ length: parts }, (_, part) => {
    const [from, to] = [part, part + 1].map((at) => samples[Math.round((at * steps) / parts)]);
    return from && to && to.atMs > from.atMs ? rateOf(from, to) : 0;
  });
}

/**
 * Judges a node by what was seen of it.
 * @param samples at least one, oldest first
 */
export function estimate(samples: readonly [Sample, ...Sample[]], blockTimeMs: number): Estimate {
  const last = samples.at(-1) ?? samples[0];
  const recent = samples.filter(({ atMs }) => last.atMs - atMs <= WINDOW_MS);
  const first = recent[0] ?? last;
  const behindMaxS = Math.max(BEHIND_S_MIN, (BEHIND_BLOCKS * blockTimeMs) / 1000);
  const isLive = (sample: Sample): boolean => sample.phase === null && behindS(sample) <= behindMaxS;
  const spanMs = last.atMs - first.atMs;
  const rate = spanMs > 0 ? rateOf(first, last) : null;
  const known = {
    behindS: behindS(last),
    rate,
    blocksPerS: spanMs > 0 ? ((last.number - first.number) * 1000) / spanMs : null,
  };
  if (samples.filter(({ atMs }) => last.atMs - atMs <= READY_MS).every(isLive)) {
    return { ...known, state: 'ready', left: null };
  }
  if (last.phase !== null) return { ...known, state: 'syncing', left: null };
  if (rate === null) return { ...known, state: 'measuring', left: null };
  // It has arrived, and has yet to show that it stays.
  if (isLive(last)) return { ...known, state: 'catching up', left: { minMs: 0, maxMs: READY_MS } };
  if (rate <= RATE_MIN) return { ...known, state: 'not catching up', left: null };
  const rates = partRates(recent);
  const slowest = Math.min(rate, ...rates);
  const msAt = (one: number): number => (known.behindS * 1000) / (one - 1);
  const maxMs = slowest <= RATE_MIN ? null : msAt(slowest);
  return { ...known, state: 'catching up', left: { minMs: msAt(Math.max(rate, ...rates)), maxMs } };
}

const UNITS: readonly (readonly [ms: number, upToMs: number, name: string])[] = [
  [1_000, 90_000, 's'],
  [60_000, 90 * 60_000, 'min'],
  [3_600_000, 48 * 3_600_000, 'h'],
  [86_400_000, Number.POSITIVE_INFINITY, 'days'],
];

/** Returns a time span as people say it, no more exact than it is known. */
export function roughly(ms: number): string {
  const [unitMs, , name] = UNITS.find(([, upToMs]) => ms < upToMs) ?? [1, 0, 'ms'];
  return `${Math.round(ms / unitMs)} ${name}`;
}

/** Returns what is left as text. */
export function leftText({ state, left, rate }: Estimate): string {
  if (state === 'ready') return '-';
  if (state === 'not catching up') return `never at this rate (${rate?.toFixed(2)})`;
  if (left === null) return state === 'measuring' ? 'measuring' : 'unknown';
  if (left.maxMs === null) return `at least ${roughly(left.minMs)}`;
  const [min, max] = [roughly(left.minMs), roughly(left.maxMs)];
  return min === max ? `about ${max}` : `${min} to ${max}`;
}
