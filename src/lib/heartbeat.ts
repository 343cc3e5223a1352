/**
 * Signs of life from a child process to its supervisor: a process whose event loop is blocked, or that is stopped,
 * sends none.
 */
import { type Clock, systemClock } from './clock.ts';
import { collectStartGarbage } from './start-garbage.ts';

/** The message. */
export const BEAT = 'beat';
export const BEAT_MS = 5_000;

/**
 * Sends a sign of life now and at intervals until the signal aborts, which must happen for the process to end by
 * itself. Does nothing in a process without a supervisor. A process that lives on gives back what its start needed.
 */
export async function giveSignsOfLife(signal: AbortSignal, clock: Pick<Clock, 'sleep'> = systemClock): Promise<void> {
  if (process.connected) void collectStartGarbage(clock, signal);
  while (process.connected && !signal.aborted) {
    // The supervisor may end meanwhile.
    process.send?.(BEAT, undefined, undefined, () => {});
    await clock.sleep(BEAT_MS, signal);
  }
}
