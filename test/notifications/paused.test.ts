/** Targets of notices that are paused, on a real database and over real HTTP: nothing is sent, and nothing is lost. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { act, HOUR_MS, MINUTE_MS, openBench } from '../support/notice-bench.ts';

test('a paused target gets nothing; once resumed it is told in one message what is still so', async () => {
  const bench = await openBench({ targets: [{ digestMinute: 8 * 60 }, {}], startMs: Date.UTC(2027, 0, 15, 12) });
  const { database, clock, texts } = bench;
  await bench.open('network:a', 'network_fault');
  await bench.after(1_000);
  assert.equal([texts().length, texts('nt_1').length], [1, 1]);
  assert.is(await database.pauseNoticeTarget('nt_0', act(clock.nowMs())), 'done');
  assert.is(await database.pauseNoticeTarget('nt_0', act(clock.nowMs())), 'already');
  await bench.open('network:b', 'indexer_silent');
  await bench.open('network:c', 'indexer_silent');
  await bench.after(HOUR_MS);
  await bench.end('network:c');
  // Two days of repeats and digests for the other, none for this one.
  for (let hours = 0; hours < 48; hours++) await bench.after(HOUR_MS);
  assert.is(texts().length, 1);
  assert.ok(texts('nt_1').length > 4);
  assert.is((await database.listOpenAlarms()).length, 2, 'alarms stay');

  assert.is(await database.resumeNoticeTarget('nt_0', act(clock.nowMs())), 'done');
  assert.is(await database.resumeNoticeTarget('nt_0', act(clock.nowMs())), 'already');
  await bench.after(1_000);
  await bench.after(1_000);
  const [, told, ...more] = bench.server.on('/nt_0').map(({ body }) => String(JSON.parse(body).text));
  assert.equal(more, [], 'one message, and no digest before its time');
  assert.match(told ?? '', 'indexer silent on live:bsc (A-2)');
  assert.match(told ?? '', 'network fault on live:bsc (A-1, told again)');
  assert.not.match(told ?? '', 'A-3');
  await bench.after(10 * MINUTE_MS);
  assert.is(texts().length, 2, 'repeats begin with that message');
  await bench.after(6 * MINUTE_MS);
  assert.is(texts().length, 3);
  await bench.close();
});

test('a URL that is paused is not called, and is again once it is resumed', async () => {
  const bench = await openBench({ targets: [{ kind: 'dead-man' }] });
  const { database, clock, server } = bench;
  const calls = () => server.on('/nt_0').length;
  await bench.after(MINUTE_MS);
  assert.is(calls(), 1);
  await database.pauseNoticeTarget('nt_0', act(clock.nowMs()));
  for (let minutes = 0; minutes < 10; minutes++) await bench.after(MINUTE_MS);
  assert.is(calls(), 1);
  await database.resumeNoticeTarget('nt_0', act(clock.nowMs()));
  await bench.after(MINUTE_MS);
  assert.is(calls(), 2);
  await bench.close();
});

test('pausing a target that fails ends the alarm about it, and what it was to be told is not lost', async () => {
  let status = 500;
  const bench = await openBench({ targets: [{}, {}], status: () => status });
  const { database, clock, texts } = bench;
  await bench.open('network:a', 'network_fault');
  for (let hours = 0; hours < 26; hours++) await bench.after(HOUR_MS);
  const failing = async () => (await database.listOpenAlarms()).filter(({ code }) => code === 'notice_target_failing');
  assert.is((await failing()).length, 2);
  await database.pauseNoticeTarget('nt_0', act(clock.nowMs()));
  assert.equal(
    (await failing()).map(({ key }) => key),
    ['notices:nt_1'],
  );
  const [target] = await database.listNoticeTargets();
  assert.equal([target?.failingSinceMs, target?.lastError], [null, null]);
  status = 200;
  const before = texts().length;
  await database.resumeNoticeTarget('nt_0', act(clock.nowMs()));
  await bench.after(HOUR_MS);
  assert.is(texts().length, before + 1);
  await bench.close();
});

test.run();
