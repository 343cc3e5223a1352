/**
 * Progress on standard error: one line, which is written again and again. Writes nothing if that is not a terminal.
 * @module
 */
const BAR_CHARACTERS = 40;

/** Returns functions to write the line, and to clear it. */
export function openProgressLine(terminal: Pick<typeof process.stderr, 'isTTY' | 'write'>) {
  const show = (line: string): void => {
    // Return to the start of the line and clear it.
    if (terminal.isTTY) terminal.write(`\r\x1b[K${line}`);
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
