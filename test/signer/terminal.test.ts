/** Texts at the terminal: nodes, payers and merchants have written some of them. */
import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loaderOptions, ownProgram } from '../support/own-program.ts';

const program = ownProgram(new URL('./terminal-program.ts', import.meta.url));

/** Returns what lines and questions, and what progress shows of a text. */
function shown(text: string): Readonly<{ asked: string; out: string }> {
  const given = { encoding: 'utf8', input: 'one\ntwo\n' } as const;
  const { status, stdout: out, stderr } = spawnSync(process.execPath, [...loaderOptions, program, text], given);
  assert.is(status, 0, stderr);
  return { asked: stderr, out };
}

test('a text with control characters reaches the terminal only with escapes in their place, and on one line', () => {
  const text = 'sw\u001b]0;title\u0007eep\u001b[2J\r\nno \u009b3J\u202etheft\u007f';
  const safe = 'sw\\u001b]0;title\\u0007eep\\u001b[2J\\u000d\\u000ano \\u009b3J\\u202etheft\\u007f';
  const { asked, out } = shown(text);
  // A line, a question whose answer's echo is the terminal's, a hidden one that ends its line by itself, and progress.
  assert.is(asked, `${safe}\n${safe}${safe}\n${safe}\n`);
  assert.is(out, 'one');
});

test('a text without any is shown as it is, in any script', () => {
  const { asked } = shown('Не найдено: 付款 «é»  10.50 USDT');
  assert.is(asked.split('\n')[0], 'Не найдено: 付款 «é»  10.50 USDT');
});

test.run();
