/**
 * Runs a batch of test files in one process, and reads from its output what became of each.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtTest } from './build-tests.ts';

const BATCH_TIMEOUT_MS = 12 * 60_000;
const program = fileURLToPath(new URL('./batch.mjs', import.meta.url));
/** Messages of `batch.mjs` before and after each file. */
const BEGIN = '\n\u001e begin\n';
const END = '\n\u001e end ';

export type Result = Readonly<{ file: string; passed: number; failed: number; skipped: number; seconds: number }>;

const running = new Set<ChildProcess>();

/** Ends what runs, with all that it has started. */
export function killRunning(): void {
  for (const child of running) killGroup(child);
}

/** Ends what a test left behind, so that it does not disturb the next file. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no process left.
  }
}

function runProcess(files: readonly string[], env: NodeJS.ProcessEnv) {
  return new Promise<{ output: string; code: number | null }>((resolve) => {
    // A test may not meet the installation of the person who runs it.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('QUAYSIDE_'));
    const child = spawn(process.execPath, [program, ...files.map(builtTest)], {
      env: { ...Object.fromEntries(own), ...env, FORCE_COLOR: '0', NODE_ENV: 'test' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    running.add(child);
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
      resolve({ output: Buffer.concat(chunks).toString(), code });
    });
  });
}

/**
 * Runs the files of a batch in one process, and those after a crash in another one. A file that crashes, hangs or
 * prints no counts has failed; so has the last one, if the process does not end with 0 after it.
 * @param tell told the output of each file that fails
 */
export async function runBatch(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  tell: (output: string) => void,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  while (results.length < files.length) {
    const { output, code } = await runProcess(files.slice(results.length), env);
    const [before = '', ...outputs] = output.split(BEGIN);
    // A process that does not even begin ends in its first file.
    const parts = outputs.length > 0 ? outputs : [before];
    const read = parts.map((part) => {
      const count = (name: string) => Number(new RegExp(`^\\s*${name}:\\s+(\\d+)`, 'm').exec(part)?.[1] ?? 0);
      const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')];
      const seconds = part.split(END)[1]?.trim();
      // The library counts skipped ones beside the total.
      const failed = Math.max(total - passed, total + skipped > 0 && seconds !== undefined ? 0 : 1);
      return { passed, failed, skipped, seconds: Number(seconds ?? 0) };
    });
    const last = read.at(-1);
    if (last && code !== 0 && read.every(({ failed }) => failed === 0)) last.failed = 1;
    for (const [nth, result] of read.entries()) {
      if (result.failed > 0) tell(parts[nth] ?? '');
      results.push({ file: files[results.length] ?? '', ...result });
    }
  }
  return results;
}
