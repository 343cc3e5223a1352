/**
 * Processes that tests start: everything that they print is kept, and they end with the test's own process at the
 * latest.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Ends everything that a test has left running, even if it failed. */
export async function endAll(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const ends = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill(signal);
  await Promise.all(ends);
}

/** Starts a process without standard input, unless the options say otherwise. */
export function startProcess(command: string, words: readonly string[], options: SpawnOptions = {}) {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  running.add(child);
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk) => {
      said[stream] += chunk;
    });
  }
  /** The exit code, once there is one; null after a kill. */
  const ended = new Promise<number | null>((done) => {
    child.once('exit', (code) => {
      running.delete(child);
      done(code);
    });
  });
  /** Resolves once it has ended and everything that it printed is here. */
  const closed = new Promise<void>((done) => child.once('close', () => done()));
  return {
    child,
    ended,
    closed,
    pid: child.pid ?? 0,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    output: () => said.stdout + said.stderr,
    hasEnded: () => !running.has(child),
    end(signal: NodeJS.Signals) {
      child.kill(signal);
      return ended;
    },
  };
}
