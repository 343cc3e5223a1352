/**
 * Runs a program once a day, at a time of day.
 */
import { once } from 'node:events';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { forkProgram } from './fork-program.ts';

/** When final blocks are compared with the database, in UTC. Simulated chains are not compared. */
export const COMPARISON_TIME = '02:15';

/** A sleep this long at most, because the machine's clock may be set, or the machine suspended. */
const SLEEP_MS_MAX = 60_000;

/**
 * Does `work` every day at `at` until the signal aborts, beginning with the next time. If it takes longer than a day,
 * the days in between are left out.
 * @param at the time of day in UTC, such as `02:15`
 */
export async function everyDay(
  at: string,
  work: () => Promise<void>,
  { clock, signal }: Readonly<{ clock: Clock; signal: AbortSignal }>,
): Promise<void> {
  const [hours = 0, minutes = 0] = at.split(':').map(Number);
  const timeMs = (hours * 60 + minutes) * 60_000;
  const nextAfter = (nowMs: number): number => {
    const today = Math.floor(nowMs / DAY_MS) * DAY_MS + timeMs;
    return today > nowMs ? today : today + DAY_MS;
  };
  let dueMs = nextAfter(clock.nowMs());
  while (!signal.aborted) {
    const leftMs = dueMs - clock.nowMs();
    if (leftMs > 0) {
      await clock.sleep(Math.min(leftMs, SLEEP_MS_MAX), signal);
      continue;
    }
    await work();
    dueMs = nextAfter(clock.nowMs());
  }
}

/** Runs a program to its end; it is asked to stop when the signal aborts. A failure is logged. */
export async function runOnce(
  module: URL,
  env: NodeJS.ProcessEnv,
  { log, signal }: Readonly<{ log: Log; signal: AbortSignal }>,
): Promise<void> {
  if (signal.aborted) return;
  const child = forkProgram({ module, env });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
    if (code !== 0 && !signal.aborted) log.error({ module: module.pathname, code, killedBy }, 'the program has failed');
  } catch (error) {
    log.error({ module: module.pathname, error: String(error) }, 'the program could not be started');
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
