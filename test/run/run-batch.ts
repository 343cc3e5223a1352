/**
 * Runs a batch of test files in one process, and reads from its output what became of each.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtTest } from './build-tests.ts';

const BATCH_TIMEOUT_MS = 12 * 60_000;
const program = fileURLToPath(new URL('./batch.mjs', import.meta.url));
/** What `batch.mjs` writes before and after each file. */
const BEGIN = '\n\u001e begin\n';
const END = '\n\u001e end ';

export type Result = Readonly<{
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  seconds: number;
}>;

/** How a process ended, and how long it took. */
type Ended = Readonly<{ output: string; code: number | null; seconds: number }>;

/** What runs now, and since when in ms of `performance.now()`. */
export const running = new Map<ChildProcess, Readonly<{ name: string; startedAtMs: number }>>();

const nameOf = ([first = '', ...more]: readonly string[]): string =>
  more.length > 0 ? `${first} and ${more.length} more` : first;

function runProcess(files: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...files.map(builtTest)], {
      env: { ...process.env, ...env, FORCE_COLOR: '0', NODE_ENV: 'test' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    running.set(child, { name: nameOf(files), startedAtMs });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
    const timer = setTimeout(() => {
      chunks.push(Buffer.from(`\nstill running after ${BATCH_TIMEOUT_MS / 60_000} minutes: killed\n`));
      killGroup(child);
    }, BATCH_TIMEOUT_MS);
    child.on('exit', () => killGroup(child));
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      const seconds = (performance.now() - startedAtMs) / 1000;
      resolve({ output: Buffer.concat(chunks).toString(), code, seconds });
    });
  });
}

/** Ends what a test left behind, so that it does not disturb the next file. */
export function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no process left.
  }
}

/**
 * Returns what became of the first files of a batch: of all, or up to the one in which the process ended. A file that
 * crashes, hangs or prints no counts has failed; so has the last one, if the process does not end with 0 after it.
 */
function readResults(files: readonly string[], ended: Ended): readonly (Result & { output: string })[] {
  const [before = '', ...outputs] = ended.output.split(BEGIN);
  // A process that does not even begin ends in its first file.
  const parts = (outputs.length > 0 ? outputs : [before]).map((output) => {
    const seconds = output.split(END)[1]?.trim();
    const count = (name: string) => Number(new RegExp(`^\\s*${name}:\\s+(\\d+)`, 'm').exec(output)?.[1] ?? 0);
    const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')];
    const failed = Math.max(total - passed - skipped, total > 0 && seconds !== undefined ? 0 : 1);
    return { output, passed, failed, skipped, seconds: Number(seconds ?? 0) };
  });
  const last = parts.at(-1);
  if (last && ended.code !== 0 && parts.every(({ failed }) => failed === 0)) last.failed = 1;
  // The start of the process is shared out.
  const more = Math.max(0, ended.seconds - parts.reduce((sum, { seconds }) => sum + seconds, 0)) / parts.length;
  return parts.map((part, at) => ({ ...part, file: files[at] ?? '', seconds: part.seconds + more }));
}

/**
 * Runs the files of a batch in one process, and those after a crash in another one.
 * @param tell told the output of each file that fails
 */
export async function runBatch(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  tell: (output: string) => void,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  while (results.length < files.length) {
    const left = files.slice(results.length);
    for (const { output, ...result } of readResults(left, await runProcess(left, env))) {
      if (result.failed) tell(output);
      results.push(result);
    }
  }
  return results;
}
