/**
 * Runs programs at their times.
 */
import { once } from 'node:events';
import { type Clock, DAY_MS, HOUR_MS } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { forkProgram } from './fork-program.ts';

/** When final blocks are compared with the database, in UTC. Simulated chains are not compared. */
export const COMPARISON_TIME = '02:15';

/** So late may work begin. */
const LOOK_MS = 20_000;

/** A time that comes once in each period; `afterMs`: so long after the period's begin, in UTC. */
type Times = Readonly<{ periodMs: number; afterMs: number }>;

export const HOURLY: Times = { periodMs: HOUR_MS, afterMs: 0 };

/** @param time of day, such as `02:15` */
export const daily = (time: string): Times => ({ periodMs: DAY_MS, afterMs: Date.parse(`1970-01-01T${time}Z`) });

/**
 * Does `work` at its times until the signal aborts, and then awaits what is under way. A time that comes while the work
 * goes on is left out.
 */
export async function atTimes(
  { periodMs, afterMs }: Times,
  work: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  // Looks at the clock again and again, because it may be set while this waits.
  const passed = () => Math.floor((clock.nowMs() - afterMs) / periodMs);
  let before = passed();
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal);
    if (passed() > before && !signal.aborted) await work();
    before = passed();
  }
}

/** Runs a program to its end; it is asked to stop when the signal aborts. A failure is logged. */
export async function runOnce(
  program: Parameters<typeof forkProgram>[0],
  log: Pick<Log, 'error'>,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const { pathname } = program.module;
  const child = forkProgram(program);
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
    if (code !== 0 && !signal.aborted) log.error({ module: pathname, code, killedBy }, 'the program has failed');
  } catch (error) {
    log.error({ module: pathname, error: String(error) }, 'the program could not be started');
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
