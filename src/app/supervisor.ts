/**
 * Keeps child processes running. A child that dies is restarted, with growing pauses while it dies before it is ready.
 * The other children are not affected.
 */
import type { ChildProcess } from 'node:child_process';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ended, forkProgram } from './fork-program.ts';

const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 30_000;
/** Run time of a child after which its next restart has the shortest pause. */
const HEALTHY_MS = 60_000;
/** Time for a child to end before it is killed. Service managers often kill everything after ten seconds. */
const STOP_MS_MAX = 9000;
/** Exit code of a program whose configuration or database prevents a start, so that a restart would not help. */
const EXIT_CANNOT_START = 2;

export type ChildSpec = Readonly<{
  /** For logs: `server`, `indexer live:mychain`. */
  name: string;
  /** The program's source. */
  module: URL;
  args?: readonly string[];
  /** Returns the settings for a start; see `forkProgram`. */
  settings?: () => Config | null;
  /** Called with each message of the child. */
  onMessage?: (message: unknown) => void;
  /** Called once when the child will not be restarted, with its exit code. */
  onHalted: (exitCode: number) => void;
}>;

export interface Supervised {
  /** Ends the child with SIGTERM, or by force after `STOP_MS_MAX`. It is not started again. */
  stop(): Promise<void>;
}

/** Starts a child and keeps it running. When this process dies, the child gets a `disconnect` and ends. */
export function supervise(spec: ChildSpec, { clock, log }: Readonly<{ clock: Clock; log: Log }>): Supervised {
  const stopping = new AbortController();
  let child: ChildProcess | null = null;

  async function keep(): Promise<void> {
    let restartMs = RESTART_MS_MIN;
    const { module, args = [] } = spec;
    while (!stopping.signal.aborted) {
      const startedAtMs = clock.nowMs();
      child = forkProgram({ module, args, settings: spec.settings?.() });
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
          `${spec.name} cannot start and is halted. Its message above says why. Correct that and restart`,
        );
        spec.onHalted(end.code);
        return;
      }
      // A child that was ready is restarted at once, because nobody is served while it is down.
      if (hasServed || clock.nowMs() - startedAtMs >= HEALTHY_MS) restartMs = RESTART_MS_MIN;
      // Exit code 0 is not logged as an error, because this process is probably stopping too (Ctrl-C goes to all).
      if (end.code !== 0) log.error({ child: spec.name, ...end, restartMs }, `${spec.name} died; restarting it`);
      await clock.sleep(restartMs, stopping.signal);
      if (stopping.signal.aborted) return;
      log.warn({ child: spec.name }, `restarting ${spec.name}`);
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
