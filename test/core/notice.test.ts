import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gradedCodes, noticeText, repeatAfterMs, severityOf, type Told } from '../../src/core/notice.ts';

const told = (more: Partial<Told> = {}): Told => ({
  alarmId: 7,
  code: 'payment_reversed',
  message: 'Transaction 0xab paid 5 base units.',
  network: 'live:bsc',
  change: 'opened',
  severity: 'page',
  times: 0,
  ...more,
});

test('every code with a severity of its own is one that the program raises', () => {
  const sources = ['src', 'indexers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('core/notice.ts') && !name.includes('sandbox'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );
  for (const code of gradedCodes) {
    const isRaised = sources.some((text) => text.includes(`'${code}'`) || text.includes(`  ${code}: rule(`));
    assert.ok(isRaised, code);
  }
  assert.is(severityOf('something_new'), 'act');
  assert.is(severityOf('sweep_not_ours'), 'page', 'money left a deposit address by a hand that is not ours');
});

test('one alarm is its own title; the alarm’s text is shown only where it was asked for', () => {
  const brief = noticeText([told()], false, 'pay.example');
  assert.is(brief.title, 'pay.example: payment reversed on live:bsc (A-7)');
  assert.not.match(brief.text, /base units/);
  assert.match(brief.text, /quayside alarms list/);
  assert.match(noticeText([told()], true, 'pay.example').text, /0xab paid 5 base units/);
  assert.match(noticeText([told({ times: 2 })], false, 'x').title, /\(A-7, told again\)/);
  assert.match(noticeText([told({ change: 'ended' })], true, 'x').title, /^x: Over: payment reversed/);
});

test('many at once are one message of bounded length with the highest severity', () => {
  const many = Array.from({ length: 400 }, (_, n) => told({ alarmId: n, severity: n === 300 ? 'page' : 'know' }));
  const { title, text, severity } = noticeText(many, true, 'x');
  assert.is(title, 'x: 400 notices');
  assert.is(severity, 'page');
  assert.match(text, /and 380 more/);
  assert.ok(text.length < 16_000);
});

test('control characters and turned text of others do not reach a message, nor does a long text', () => {
  const { text } = noticeText([told({ message: `a\u202eb\u0007c\nd${'x'.repeat(5_000)}` })], true, 'x');
  assert.match(text, /a b c dx/);
  assert.ok(text.length < 1_000);
  assert.not.ok(['\u0007', '\u202e'].some((bad) => text.includes(bad)));
});

test('pages are told again soon, and then daily; what can wait is told once', () => {
  assert.equal(
    [1, 2, 3, 9].map((times) => (repeatAfterMs('page', times) ?? 0) / 60_000),
    [15, 45, 1_440, 1_440],
  );
  assert.is(repeatAfterMs('act', 1), 86_400_000);
  assert.is(repeatAfterMs('know', 1), null);
});

test.run();
