/**
 * A process that loads its modules while what it needs is still starting.
 */
import { once } from 'node:events';

/** Set in the environment of a child that the supervisor starts early. */
export const AWAIT_START = 'QUAYSIDE_AWAIT_START';

/** The supervisor's message to that child once it may begin, with what it begins with, such as its configuration. */
export type Start = Readonly<{ start: true; with?: unknown }>;

/**
 * Waits for the supervisor's message if it started this process early.
 * @returns what came with the message, undefined if there is no such message to wait for; null if the process is to
 *   stop
 */
export async function awaitStart(
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
): Promise<Readonly<{ given: unknown }> | null> {
  const isEarly = env[AWAIT_START] !== undefined;
  // It is no setting, and not for the processes that this one starts.
  delete env[AWAIT_START];
  if (stop.aborted) return null;
  if (!isEarly) return { given: undefined };
  try {
    for (;;) {
      const [message] = await once(process, 'message', { signal: stop });
      if (isStart(message)) return { given: message.with };
    }
  } catch (error) {
    if (!stop.aborted) throw error;
    return null;
  }
}

const isStart = (message: unknown): message is Start =>
  typeof message === 'object' && message !== null && 'start' in message && message.start === true;
