/**
 * A line on standard error that shows how far long work is. Nothing is written where standard error is no terminal.
 * @module
 */
const BAR_CHARACTERS = 40;

export function openProgress(title: string, total: number, terminal: Pick<typeof process.stderr, 'isTTY' | 'write'>) {
  const show = (line: string): void => {
    // Back to the start of the line, and without what was there.
    if (terminal.isTTY) terminal.write(`\r\x1b[K${line}`);
  };
  return {
    step(done: number, note = ''): void {
      const filled = Math.round((BAR_CHARACTERS * done) / Math.max(1, total));
      show(`${title} ${'█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')} ${done}/${total} ${note}`);
    },
    end: () => show(''),
  };
}
