import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openProgress } from '../../scripts/cli/progress.ts';

function terminal(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, write: (text: string | Uint8Array) => written.push(String(text)) > 0 };
}

test('a terminal shows one line, which is cleared at the end', () => {
  const screen = terminal(true);
  const bar = openProgress('sweeps', 4, screen);
  bar.step(1, 'signer_refused_cap');
  bar.step(4);
  bar.end();
  const clear = '\r\u001b[K';
  assert.equal(screen.written, [
    `${clear}sweeps ${'█'.repeat(10)}${'░'.repeat(30)} 1/4 signer_refused_cap`,
    `${clear}sweeps ${'█'.repeat(40)} 4/4 `,
    clear,
  ]);
});

test('nothing is written to a file, and a total of zero works', () => {
  const file = terminal(false);
  const bar = openProgress('sweeps', 0, file);
  bar.step(0);
  bar.end();
  assert.equal(file.written, []);
  openProgress('sweeps', 0, terminal(true)).step(0);
});

test.run();
