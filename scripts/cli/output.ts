/** Output of a command, written part by part: lines, a new file, progress on the terminal. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { printable } from '../../src/core/excerpt.ts';
import { permanent } from '../../src/core/fault.ts';

const PRIVATE = 0o600;
const BAR_CHARACTERS = 40;
/** The width of a terminal that reports none. */
const COLUMNS = 80;

export const printLine = (line: string, stream: Pick<typeof process.stdout, 'write'> = process.stdout): void =>
  void stream.write(`${printable(line)}\n`);

/** Gives `work` a signal that the first Ctrl-C or SIGTERM aborts; the second ends the program. */
export async function untilStopped<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  }
}

/**
 * Writes a new file, mode 0600, beside it first: a file of this name is always whole.
 * @throws Fault permanent `refused` if it exists or cannot be written; what `parts` throws
 */
export async function toNewFile(parts: AsyncIterable<string>, path: string): Promise<void> {
  if (existsSync(path)) throw permanent('refused', `${path} exists already; name another file`);
  const partial = `${path}.partial`;
  try {
    await writeFile(partial, parts, { mode: PRIVATE, flush: true });
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw permanent(
      'refused',
      `${path} could not be written: ${error.message}; name a file in a folder that you can write to`,
    );
  }
}

/** Uses a file that a person named. @throws Fault permanent `file_unusable` */
export function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw permanent('file_unusable', `${what}: ${error instanceof Error ? error.message : error}`, error);
  }
}

/**
 * Returns functions to write lines in the place of those before, and to clear them. Nothing is written if standard
 * error is not a terminal.
 */
export function openProgress(terminal: Pick<typeof process.stderr, 'isTTY' | 'write' | 'columns'> = process.stderr) {
  let shown = 0;
  const show = (...lines: readonly string[]): void => {
    if (!terminal.isTTY) return;
    // Go up to the first line and clear everything from there on.
    const back = shown === 0 ? '' : `\x1b[${shown}A\x1b[J`;
    // A line that wraps would be two to go up.
    const width = Math.max(1, (terminal.columns || COLUMNS) - 1);
    terminal.write(back + lines.map((line) => `${printable(line).slice(0, width)}\n`).join(''));
    shown = lines.length;
  };
  return { show, end: () => show() };
}

export type Progress = ReturnType<typeof openProgress>;

/** Returns a bar that is filled by its share of `total`. */
export function progressBar(title: string, done: number, total: number, note = ''): string {
  const filled = Math.round((BAR_CHARACTERS * done) / Math.max(1, total));
  return `${title} ${'█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')} ${done}/${total} ${note}`;
}
