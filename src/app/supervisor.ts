/**
 * Keeps child processes running: one that dies is started again, later and later while it dies before it is ready; the others are not touched.
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../lib/clock.ts';
import { runnable } from '../lib/installation.ts';
import type { Log } from '../lib/log.ts';

const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 30_000;
/** A child that has run for so long starts again from the shortest wait. */
const HEALTHY_MS = 60_000;
/** A child has so long to end by itself before it is killed. Service managers often kill everything after ten seconds. */
const STOP_MS_MAX = 9000;
/** Exit code of a program whose configuration or database does not let it start: starting again changes nothing. */
const EXIT_CANNOT_START = 2;

export type ChildSpec = Readonly<{
  /** For logs: `server`, `indexer live:mychain`. */
  name: string;
  /** The program's source. */
  module: URL;
  args: readonly string[];
  /** Asked again at each start. */
  env: () => NodeJS.ProcessEnv;
  /** Told of each message that the child sends. */
  onMessage?: (message: unknown) => void;
  /** Told once when the child will not be started again, with what it is that it cannot do. */
  onHalted: (exitCode: number) => void;
}>;

export interface Supervised {
  /** Ends the child in order (SIGTERM), or by force when it does not. Nothing is started afterwards. */
  stop(): Promise<void>;
}

/** Starts a child and keeps it running. It sees a `disconnect` when this process dies, and ends then. */
export function supervise(spec: ChildSpec, { clock, log }: Readonly<{ clock: Clock; log: Log }>): Supervised {
  const stopping = new AbortController();
  let child: ChildProcess | null = null;

  async function keep(): Promise<void> {
    let restartMs = RESTART_MS_MIN;
    while (!stopping.signal.aborted) {
      const startedAtMs = clock.nowMs();
      child = fork(runnable(spec.module), spec.args, { env: spec.env() });
      if (spec.onMessage) child.on('message', spec.onMessage);
      let hasServed = false;
      child.on('message', (message) => {
        hasServed ||= saysReady(message);
      });
      const end = await ended(child);
      child = null;
      if (stopping.signal.aborted) return;
      if (end.code === EXIT_CANNOT_START) {
        log.fatal(
          { child: spec.name },
          `${spec.name} cannot start and is left halted: see its message above, then restart`,
        );
        spec.onHalted(end.code);
        return;
      }
      // A child that was up is wanted back at once: whatever ended it may come again, and each wait is time in which nobody is served.
      if (hasServed || clock.nowMs() - startedAtMs >= HEALTHY_MS) restartMs = RESTART_MS_MIN;
      // A child that ended in order was told to, most likely with this process (Ctrl-C goes to all): wait before calling it a failure.
      if (end.code !== 0)
        log.error({ child: spec.name, ...end, restartMs }, `${spec.name} died; it will be started again`);
      await clock.sleep(restartMs, stopping.signal);
      if (stopping.signal.aborted) return;
      log.warn({ child: spec.name }, `${spec.name} is started again`);
      restartMs = Math.min(restartMs * 2, RESTART_MS_MAX);
    }
  }

  const kept = keep();
  return {
    async stop() {
      stopping.abort();
      const patience = new AbortController();
      child?.kill('SIGTERM');
      const killed = clock.sleep(STOP_MS_MAX, patience.signal).then(() => {
        if (!patience.signal.aborted) child?.kill('SIGKILL');
      });
      await kept;
      patience.abort();
      await killed;
    },
  };
}

const saysReady = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'ready' in message && message.ready === true;

type End = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>;

const ended = (child: ChildProcess): Promise<End> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A process that could not even be made counts as one that died.
    child.once('error', () => resolve({ code: null, signal: null }));
  });
