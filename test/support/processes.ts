/**
 * Processes that tests start: everything that they print is kept, and they end with the test's own process at the
 * latest.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

const OUTPUT_MS_MAX = 10_000;

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
  child.once('exit', () => running.delete(child));
  /**
   * Resolves once it has ended and everything that it printed is here: with the exit code, or null after a kill. What a
   * child of its own may still print is not waited for without end.
   */
  const ended = new Promise<number | null>((done) => {
    child.once('close', done);
    child.once('exit', (code) => setTimeout(done, OUTPUT_MS_MAX, code).unref());
  });
  return {
    child,
    ended,
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
