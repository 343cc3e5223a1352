/**
 * Another process that holds a database's locks, for tests of what waits for them.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loaderOptions, ownProgram } from './own-program.ts';

type Disturbance = 'hold' | 'release' | 'turn' | 'write';

export type LockHolder = Awaited<ReturnType<typeof startLockHolder>>;

export async function startLockHolder(file: string) {
  const child = fork(ownProgram(new URL('./lock-holder.ts', import.meta.url)), [file], {
    execArgv: [...loaderOptions],
  });
  await once(child, 'message');
  return {
    /** Makes the process do this, and returns once it is done; see `lock-holder.ts`. */
    async tell(what: Disturbance) {
      child.send(what);
      await once(child, 'message');
    },
    /** Suspends the process, with all that it holds. */
    suspend: () => void child.kill('SIGSTOP'),
    /** Kills it; its locks are released. */
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
