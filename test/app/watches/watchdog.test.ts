import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Finding, type Watch, watchRules } from '../../../src/app/watches/watchdog.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, PATIENCE_MS, watched } from '../../support/watched.ts';

type Stage = { temp: TempDatabase; clock: HandClock; found: Finding[]; watch: Watch };
const test = suite<Stage>('watchdog');

test.before.each((stage) => {
  stage.temp = openTempDatabase();
  stage.clock = handClock();
  stage.found = [];
  stage.watch = { what: 'tests', rules: ['network_behind', 'disk_filling'], look: async () => stage.found };
});
test.after.each(({ temp }) => temp.close());

const fault = (message = 'one is at fault'): Finding => ({
  rule: 'network_fault',
  subject: 'test:one',
  network: 'test:one',
  message,
});

test('an alarm has a key, a reason and what to do, ends by itself, and is a new one the next time', async (stage) => {
  const { temp, clock, watch } = stage;
  const bench = watched(watch, temp.database, clock);
  stage.found = [fault()];
  assert.equal(await bench.look(), []);
  assert.equal(await bench.after(PATIENCE_MS - 1), []);
  assert.equal(await bench.after(1), ['network_fault']);
  const [alarm] = await bench.open();
  assert.is(alarm?.key, 'network:test:one');
  assert.is(alarm?.atMs, clock.nowMs());
  assert.is(alarm?.network, 'test:one');
  assert.match(alarm?.message ?? '', /^one is at fault\. Payments .*`quayside show <network>`.*\.$/);
  assert.equal(await bench.after(10 * PATIENCE_MS, 60_000), ['network_fault']);
  stage.found = [];
  await bench.look();
  assert.equal(await bench.after(CALM_MS - 1), ['network_fault'], 'it may come back');
  assert.equal(await bench.after(1), []);
  assert.is((await temp.database.alarms.list(1))[0]?.endedAtMs, clock.nowMs());
  stage.found = [fault()];
  await bench.look();
  await bench.after(PATIENCE_MS);
  assert.equal(await bench.all(), ['network_fault ended', 'network_fault open']);
});

test('another cause of the same trouble that needs no patience ends the first alarm and raises the next', async (stage) => {
  const bench = watched(stage.watch, stage.temp.database, stage.clock);
  stage.found = [fault()];
  await bench.look();
  await bench.after(PATIENCE_MS);
  stage.found = [{ ...fault('one is halted: it forked'), rule: 'network_halted', code: 'reorg_below_floor' }];
  assert.equal(await bench.look(), ['reorg_below_floor']);
  assert.equal(await bench.all(), ['network_fault ended', 'reorg_below_floor open']);
});

test('a cause that would raise no alarm yet only changes the message', async (stage) => {
  const bench = watched(stage.watch, stage.temp.database, stage.clock);
  stage.found = [fault()];
  await bench.look();
  await bench.after(PATIENCE_MS);
  stage.found = [{ ...fault('one is 5 blocks behind'), rule: 'network_behind' }];
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS - 1, 30_000), ['network_fault']);
  assert.match((await bench.open())[0]?.message ?? '', /^one is 5 blocks behind\. /);
  assert.equal(await bench.after(60_000), ['network_behind']);
});

test('a message that changes is kept up to date, at most once a minute', async (stage) => {
  const { temp, clock } = stage;
  const bench = watched(stage.watch, temp.database, clock);
  const before = temp.database.changeCount;
  stage.found = [fault('0 behind')];
  await bench.look();
  await bench.after(PATIENCE_MS);
  const saved = before();
  for (let n = 1; n < 12; n++) {
    stage.found = [fault(`${n} behind`)];
    await bench.after(5_000);
  }
  assert.is(before(), saved, 'no commit');
  stage.found = [fault('12 behind')];
  await bench.after(5_000);
  assert.match((await bench.open())[0]?.message ?? '', /^12 behind\. /);
  assert.equal(await bench.all(), ['network_fault open']);
});

test('a restart continues an open alarm, and ends it if the trouble is over by then', async (stage) => {
  const { temp, clock, watch } = stage;
  const first = watched(watch, temp.database, clock);
  stage.found = [fault()];
  await first.look();
  await first.after(PATIENCE_MS);
  const second = watched(watch, temp.connect(), clock);
  assert.equal(await second.after(1000), ['network_fault']);
  assert.equal(await second.all(), ['network_fault open']);
  stage.found = [];
  const third = watched(watch, temp.connect(), clock);
  await third.look();
  assert.equal(await third.after(CALM_MS), []);
});

test('alarms of other scopes, and events, are left alone', async (stage) => {
  const { temp, clock } = stage;
  const { database } = temp;
  const other = { atMs: clock.nowMs(), message: 'm', network: null, sessionId: null };
  await database.alarms.keep({ ...other, key: 'coin:USDT', code: 'coin_depegged' });
  await database.alarms.raise({ ...other, code: 'network_fault' });
  const bench = watched(stage.watch, database, clock);
  await bench.look();
  await bench.after(10 * CALM_MS, CALM_MS);
  assert.equal(await bench.all(), ['coin_depegged open', 'network_fault event']);
});

test('the page of alarms has every lasting alarm', () => {
  const page = readFileSync('docs/reference/alarms.md', 'utf8');
  for (const code of Object.keys(watchRules)) assert.match(page, new RegExp(`^- \`${code}\`: .+$`, 'm'), code);
});

test.run();
