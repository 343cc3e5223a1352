/**
 * The test command: runs every `test/**\/*.test.ts` in a process of its own, two at a time, and closes with one line that counts.
 *
 *   npm test                      everything
 *   npm test -- store follow      only files whose path contains one of the words
 * @module
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';

const FILE_TIMEOUT_MS = 8 * 60_000;

type Result = Readonly<{
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  seconds: number;
  output: string;
}>;

/** Runs one test file; a file that dies, hangs or counts nothing is one failure. */
function runFile(file: string): Promise<Result> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', 'tsx', file], {
      env: { ...process.env, FORCE_COLOR: '0', NODE_ENV: 'test' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    const timer = setTimeout(() => {
      output += `\nno end after ${FILE_TIMEOUT_MS / 60_000} minutes: killed\n`;
      killGroup(child.pid);
    }, FILE_TIMEOUT_MS);
    child.on('close', (code) => {
      clearTimeout(timer);
      // A test that leaves processes behind must not disturb the next file.
      killGroup(child.pid);
      const count = (name: string) => Number(new RegExp(`^\\s*${name}:\\s+(\\d+)`, 'm').exec(output)?.[1] ?? 0);
      const total = count('Total');
      const passed = count('Passed');
      const skipped = count('Skipped');
      const failed = Math.max(total - passed - skipped, code === 0 && total > 0 ? 0 : 1);
      resolve({ file, passed, failed, skipped, seconds: (performance.now() - startedAtMs) / 1000, output });
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
}

const words = process.argv.slice(2);
const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();

const queue = new PQueue({ concurrency: Math.min(2, availableParallelism()) });
const results = await Promise.all(
  files.map((file) =>
    queue.add(async () => {
      const result = await runFile(file);
      const counts = `${result.passed} passed${result.failed ? `, ${result.failed} FAILED` : ''}${result.skipped ? `, ${result.skipped} skipped` : ''}`;
      process.stdout.write(`${result.failed ? '✗' : '✓'} ${file}  ${counts}  ${result.seconds.toFixed(1)} s\n`);
      if (result.failed) process.stdout.write(`${result.output}\n`);
      return result;
    }),
  ),
);

const sum = (pick: (result: Result) => number) => results.reduce((total, result) => total + pick(result), 0);
const failed = sum((result) => result.failed);
const skipped = sum((result) => result.skipped);
process.stdout.write(
  `\n${sum((result) => result.passed)} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}\n`,
);
process.exitCode = failed > 0 || results.length === 0 ? 1 : 0;
