import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  dueNotices,
  gradedCodes,
  noticeId,
  noticeText,
  type Severity,
  severityOf,
  type Told,
  type WatchedAlarm,
} from '../../src/core/notice.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;

const alarm = (more: Partial<WatchedAlarm> = {}): WatchedAlarm => ({
  id: 7,
  key: null,
  code: 'payment_reversed',
  message: 'Transaction 0xab paid 5 base units.',
  network: 'live:bsc',
  isOver: false,
  isAcknowledged: false,
  toldAtMs: null,
  ...more,
});
const told = (more: Partial<Told> = {}): Told => ({ ...alarm(), change: 'opened', severity: 'page', ...more });

/** Returns what is due, as `opened 7`. */
const due = (alarms: readonly WatchedAlarm[], least: Severity = 'know', nowMs = NOW_MS) =>
  dueNotices(alarms, { least, ownKey: 'notices:nt_1' }, nowMs).map(({ change, id }) => `${change} ${id}`);

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

test('an alarm is told once when it opens and once when it is over, if somebody heard of it', () => {
  assert.equal(due([alarm()]), ['opened 7']);
  assert.equal(due([alarm({ toldAtMs: NOW_MS - HOUR_MS })]), []);
  assert.equal(due([alarm({ toldAtMs: NOW_MS - HOUR_MS, isOver: true })]), ['ended 7']);
  assert.equal(due([alarm({ isOver: true })]), []);
  assert.equal(due([alarm({ isAcknowledged: true })]), []);
  assert.equal(due([alarm({ toldAtMs: 0, isAcknowledged: true, isOver: true })]), ['ended 7']);
});

test('a day later all that nobody has acknowledged is repeated together', () => {
  const alarms = [
    alarm({ id: 1, toldAtMs: NOW_MS }),
    alarm({ id: 2, toldAtMs: NOW_MS + HOUR_MS }),
    alarm({ id: 3, toldAtMs: NOW_MS, isAcknowledged: true }),
  ];
  assert.equal(due(alarms, 'know', NOW_MS + 24 * HOUR_MS - 1), []);
  assert.equal(due(alarms, 'know', NOW_MS + 24 * HOUR_MS), ['repeated 1', 'repeated 2']);
  assert.equal(due(alarms, 'know', NOW_MS - 24 * HOUR_MS), ['repeated 1', 'repeated 2'], 'the clock was set back');
});

test('a target hears of its severity and worse, and not of its own failing', () => {
  const alarms = [
    alarm({ id: 1, code: 'payment_reversed' }),
    alarm({ id: 2, code: 'wallet_low' }),
    alarm({ id: 3, code: 'rates_stale' }),
    alarm({ id: 4, code: 'notice_target_failing', key: 'notices:nt_1' }),
    alarm({ id: 5, code: 'notice_target_failing', key: 'notices:nt_2' }),
  ];
  assert.equal(due(alarms, 'page'), ['opened 1']);
  assert.equal(due(alarms, 'act'), ['opened 1', 'opened 2', 'opened 5']);
  assert.equal(due(alarms, 'know'), ['opened 1', 'opened 2', 'opened 3', 'opened 5']);
});

test('the same message has the same id; another target, another alarm or a repeat has another', () => {
  const one = [told()];
  const ids = [
    noticeId('nt_1', one),
    noticeId('nt_2', one),
    noticeId('nt_1', [told({ id: 8 })]),
    noticeId('nt_1', [...one, told({ id: 8 })]),
    noticeId('nt_1', [told({ change: 'repeated', toldAtMs: 1 })]),
    noticeId('nt_1', [told({ change: 'repeated', toldAtMs: 2 })]),
  ];
  assert.is(new Set(ids).size, ids.length);
  assert.is(noticeId('nt_1', [told()]), ids[0]);
});

test('one alarm is its own title, the text says what to run, and its own text is shown only where it may be', () => {
  const { title, text } = noticeText([told()], 'pay.example', false);
  assert.is(title, 'pay.example: payment reversed on live:bsc (A-7)');
  assert.match(text, /quayside alarm list/);
  assert.not.match(text, '0xab');
  assert.match(noticeText([told()], 'x', true).text, '0xab paid 5 base units');
  const again = noticeText([told({ change: 'repeated' })], 'x', true);
  assert.match(again.title, 'x: Not acknowledged: payment reversed');
  const over = noticeText([told({ change: 'ended', network: null })], 'x', true);
  assert.is(over.title, 'x: Over: payment reversed (A-7)');
  assert.not.match(over.text, '0xab');
});

test('many at once are one message of bounded length, the most severe first', () => {
  const many = Array.from({ length: 400 }, (_, id) => told({ id, severity: id === 300 ? 'page' : 'know' }));
  const { title, text, severity } = noticeText(many, 'x', true);
  assert.is(title, 'x: 400 notices');
  assert.is(severity, 'page');
  assert.match(text, /^payment reversed on live:bsc \(A-300\)\n {2}Transaction/);
  assert.match(text, /and 380 more/);
  assert.ok(text.length < 16_000);
});

test('control characters and turned text of others do not reach a message, nor does a long text', () => {
  const { text } = noticeText([told({ message: `a\u202eb\u0007c\nd${'x'.repeat(5_000)}` })], 'x', true);
  assert.match(text, /a b c dx/);
  assert.ok(text.length < 1_000);
  assert.not.ok(['\u0007', '\u202e'].some((bad) => text.includes(bad)));
});

test.run();
