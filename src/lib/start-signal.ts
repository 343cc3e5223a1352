/**
 * A process that loads its modules while what it needs is still starting.
 * @module
 */

/** Set in the environment of a child that the supervisor starts early. */
export const AWAIT_START = 'QUAYSIDE_AWAIT_START';

/** What the supervisor sends to that child once it may begin. */
export const START = 'start';

/**
 * Waits for the supervisor's message if it started this process early.
 * @returns false if the process is to stop instead
 */
export async function mayStart(env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<boolean> {
  const isEarly = env[AWAIT_START] !== undefined;
  // It is no setting, and not for the processes that this one starts.
  delete env[AWAIT_START];
  if (!isEarly || stop.aborted) return !stop.aborted;
  return new Promise((resolve) => {
    const settle = (answer: boolean) => {
      process.off('message', onMessage);
      stop.removeEventListener('abort', onStop);
      resolve(answer);
    };
    const onMessage = (message: unknown) => {
      if (message === START) settle(true);
    };
    const onStop = () => settle(false);
    process.on('message', onMessage);
    stop.addEventListener('abort', onStop);
  });
}
