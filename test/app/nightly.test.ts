/**
 * When the nightly program runs.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { everyDay } from '../../src/app/nightly.ts';
import { lockstepClock } from '../support/lockstep-clock.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const STEP_MS = HOUR_MS / 4;
const at = (text: string): number => Date.parse(text);

/** Lets hours pass; all waiting work is done in between. */
async function runUntil(start: string, hours: number, work: (nowMs: number) => Promise<void> | void): Promise<void> {
  const clock = lockstepClock(at(start));
  const view = clock.view();
  const stopping = new AbortController();
  const running = everyDay('02:15', async () => work(clock.nowMs()), { clock: view, signal: stopping.signal });
  for (let passedMs = 0; passedMs < hours * HOUR_MS; passedMs += STEP_MS) {
    await until('it sleeps', () => view.asleep() === 1);
    clock.advance(STEP_MS);
  }
  await until('it sleeps', () => view.asleep() === 1);
  stopping.abort();
  await running;
}

test('the work is done once a day, at the first such time after the start', async () => {
  const times: string[] = [];
  await runUntil('2026-11-22T03:00:00Z', 49, (nowMs) => void times.push(new Date(nowMs).toISOString()));
  assert.equal(times, ['2026-11-23T02:15:00.000Z', '2026-11-24T02:15:00.000Z']);
});

test('work that ends the next day does not begin again at once', async () => {
  let count = 0;
  const clock = lockstepClock(at('2026-11-22T02:14:00Z'));
  const stopping = new AbortController();
  const view = clock.view();
  const own = clock.view();
  const work = async () => {
    count += 1;
    await own.sleep(26 * HOUR_MS);
  };
  const running = everyDay('02:15', work, { clock: view, signal: stopping.signal });
  await until('it sleeps', () => view.asleep() === 1);
  clock.advance(60_000);
  await until('it works', () => own.asleep() === 1);
  clock.advance(26 * HOUR_MS);
  await until('it sleeps', () => view.asleep() === 1);
  assert.is(count, 1);
  stopping.abort();
  await running;
});

test.run();
