/**
 * Runs programs at their times.
 */
import { createTask } from 'node-cron';
import { aborted } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ended, forkProgram } from './fork-program.ts';

/** The time, in UTC, at which final blocks are compared with the database. Simulated chains are not compared. */
export const COMPARISON_TIME = '02:15';

/** Returns the cron expression of a time of day, such as `02:15`. */
export function daily(time: string): string {
  const [hours, minutes] = time.split(':').map(Number);
  return `${minutes} ${hours} * * *`;
}

/**
 * Does `work` at the times of a cron expression in UTC until the signal aborts, and then awaits running work. A time
 * during which the work still runs is skipped.
 */
export async function atTimes(times: string, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  let underWay: Promise<void> | null = null;
  // The library would write its own words to the log.
  const begin = (): void => {
    underWay ??= work().finally(() => {
      underWay = null;
    });
  };
  const task = createTask(times, begin, { timezone: 'UTC', suppressMissedWarning: true });
  await task.start();
  await aborted(signal);
  await task.destroy();
  await underWay;
}

/** Runs a program to its end, or asks it to stop when the signal aborts. Logs a failure. */
export async function runOnce(
  program: Parameters<typeof forkProgram>[0],
  log: Pick<Log, 'error'>,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const child = forkProgram(program);
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const end = await ended(child);
  signal.removeEventListener('abort', stop);
  if (end.code !== 0 && !signal.aborted)
    log.error({ module: program.module.pathname, ...end }, 'the program has failed');
}
