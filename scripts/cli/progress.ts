/**
 * Progress on standard error: lines that are written again and again. Writes nothing if that is not a terminal.
 */
import { printable } from '../../src/core/excerpt.ts';

const BAR_CHARACTERS = 40;
const MIB = 2 ** 20;

/** Returns a number of bytes as people read it. */
export const mebibytes = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

/** Returns functions to write the line, and to clear it. */
export function openProgressLine(terminal: Pick<typeof process.stderr, 'isTTY' | 'write'>) {
  const show = (line: string): void => {
    // Return to the start of the line and clear it.
    if (terminal.isTTY) terminal.write(`\r\x1b[K${printable(line)}`);
  };
  return { show, end: () => show('') };
}

/** Returns a bar of `total` steps, with functions to draw and to clear it. */
export function openProgress(title: string, total: number, terminal: Pick<typeof process.stderr, 'isTTY' | 'write'>) {
  const { show, end } = openProgressLine(terminal);
  return {
    step(done: number, note = ''): void {
      const filled = Math.round((BAR_CHARACTERS * done) / Math.max(1, total));
      show(`${title} ${'█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')} ${done}/${total} ${note}`);
    },
    end,
  };
}

/** Returns functions to write several lines in the place of those before, and to clear them. */
export function openProgressTable(terminal: Pick<typeof process.stderr, 'isTTY' | 'write' | 'columns'>) {
  let shown = 0;
  const show = (lines: readonly string[]): void => {
    if (!terminal.isTTY) return;
    // Go up to the first line and clear everything from there on.
    const back = shown === 0 ? '' : `\x1b[${shown}A\x1b[J`;
    // A line that wraps would be two to go up.
    const width = Math.max(1, terminal.columns - 1);
    terminal.write(back + lines.map((line) => `${printable(line).slice(0, width)}\n`).join(''));
    shown = lines.length;
  };
  return { show, end: () => show([]) };
}
