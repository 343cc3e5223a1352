/**
 * The loop of every background service: work, wait, repeat, and back off while something outside is broken.
 */
import { Fault } from '../core/fault.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** Pause before the first retry; it doubles with each further retry. */
const RETRY_MS_MIN = 250;
/** Longest pause between retries, unless the work itself runs less often. */
const RETRY_MS_MAX = 10_000;

/** `again`: there is more to do, so do not wait; `done`: end the loop. */
export type Round = 'again' | 'done' | undefined;

export type EveryOptions = Readonly<{
  clock: Pick<Clock, 'sleep'>;
  log: Pick<Log, 'warn' | 'info'>;
  /** Ends the loop after the current round; a transient fault in that round is ignored. */
  signal: AbortSignal;
  /** The work as a singular noun for the log: `webhook delivery`. */
  what: string;
  /** Waits between two rounds, if something can shorten the wait. Default: sleep until the signal aborts. */
  wait?: (ms: number) => Promise<void>;
  /**
   * Handles a fault instead of the log, before each retry. With it, permanent faults are retried too, for services that
   * report what a person must change and wait until it is done. A fault that it throws itself is ignored.
   */
  onFault?: (fault: Fault) => void | Promise<void>;
}>;

/**
 * Does `work` every `ms` milliseconds until the signal aborts. A transient fault is logged once and retried with
 * growing pauses; when the work succeeds again, that is logged too.
 * @throws anything else, which is meant to end the process
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most work returns nothing.
export async function every(ms: number, work: () => Promise<Round | void>, options: EveryOptions): Promise<void> {
  const { clock, log, signal, what, onFault } = options;
  const wait = options.wait ?? ((pauseMs: number) => clock.sleep(pauseMs, signal));
  const retryMsMax = Math.max(RETRY_MS_MAX, ms);
  let retryMs = RETRY_MS_MIN;
  let hasFailed = false;

  async function report(fault: Fault): Promise<void> {
    if (!onFault) {
      if (!hasFailed) log.warn({ code: fault.code, error: fault.message }, `${what} failed; retrying`);
      return;
    }
    try {
      await onFault(fault);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  while (!signal.aborted) {
    try {
      const round = await work();
      if (hasFailed && !onFault) log.info(`${what} works again`);
      hasFailed = false;
      retryMs = RETRY_MS_MIN;
      if (round === 'done') return;
      if (round !== 'again') await wait(ms);
    } catch (error) {
      if (!(error instanceof Fault) || (error.kind === 'permanent' && !onFault)) throw error;
      // Stopping closes what the work uses, so it fails.
      if (signal.aborted) return;
      await report(error);
      hasFailed = true;
      await clock.sleep(retryMs, signal);
      retryMs = Math.min(2 * retryMs, retryMsMax);
    }
  }
}
