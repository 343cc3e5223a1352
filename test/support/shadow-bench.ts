/**
 * A shadow of a simulated node, running inside the test's process with all of its real parts.
 * @module
 */
import type { Answer } from '../../scripts/cli/command.ts';
import { reportOf } from '../../scripts/cli/shadow-text.ts';
import { openEvidence } from '../../scripts/shadow/evidence.ts';
import { type Progress, runShadow, type ShadowOptions } from '../../scripts/shadow/shadow.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from './until.ts';

const HOUR_MS = 3_600_000;

export type RunningShadow = Readonly<{
  /** Waits until this block was read. */
  read(number: number): Promise<void>;
  progress(): Progress | null;
}>;

/** The parts of the report's JSON that tests use. */
export type ShadowReport = Readonly<{
  ended: string;
  halted: Readonly<{ code: string }> | null;
  good: boolean;
  addresses: Readonly<{ watched: number; sampled: number }>;
  blocks: Readonly<{ read: number; compared: number; replaced: number; uncompared: number }>;
  transfers: Readonly<{ all: number; watched: number; confirmed: number }>;
  reorgs: Readonly<{ count: number; depth_max: number }>;
  latency_ms: Readonly<{ blocks: number; p50: number; p95: number; max: number }> | null;
  traffic: Readonly<Record<'follower' | 'second', Readonly<{ requests: number; bytes: number }>>>;
  faults: Readonly<Record<'follower' | 'second', Readonly<Record<string, number>>>>;
  doubted_answers: number;
  saved: Readonly<{ saved: number; skipped: number }>;
  differences: Readonly<{
    count: number;
    listed: readonly Readonly<{
      block: Readonly<{ number: number }>;
      transaction: string;
      level: string;
      follower: Readonly<{ units: string }> | null;
      second: Readonly<{ units: string }> | null;
      saved: string | null;
    }>[];
  }>;
}>;

export type ShadowChange = Partial<Pick<ShadowOptions, 'keys' | 'sampleEvery' | 'secondUrl'>> &
  Readonly<{ folder?: string }>;

/** Runs a shadow while `drive` works, then stops it. */
export async function shadowed(
  network: NetworkConfig,
  change: ShadowChange,
  drive: (shadow: RunningShadow) => Promise<void>,
): Promise<Readonly<{ report: ShadowReport; lines: readonly string[]; isBad: boolean }>> {
  const { folder = null, ...own } = change;
  const [stop, hurry] = [new AbortController(), new AbortController()];
  let progress: Progress | null = null;
  const evidence = openEvidence(folder, [network.url], systemClock.nowMs());
  const running = runShadow(
    {
      network,
      keys: [],
      sampleEvery: 0,
      secondUrl: null,
      durationMs: HOUR_MS,
      evidence,
      clock: systemClock,
      random: () => 0.5,
      onProgress: (next) => {
        progress = next;
      },
      ...own,
    },
    stop.signal,
    hurry.signal,
  );
  running.catch(() => {});
  const read = (number: number) => until(`block ${number} is read`, () => (progress?.read ?? -1) >= number);
  try {
    await Promise.race([drive({ read, progress: () => progress }), running]);
  } finally {
    stop.abort();
  }
  const { json, lines, isBad = false }: Answer = reportOf(await running);
  // What a program reads.
  return { report: JSON.parse(JSON.stringify(json)), lines, isBad };
}
