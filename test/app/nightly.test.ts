/**
 * When programs run.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { atTimes, daily, HOURLY } from '../../src/app/nightly.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';

const midnightMs = Date.UTC(2026, 10, 20);

/** Runs work for as many hours, each time for `workMs`. @returns when it began, in minutes after midnight */
async function begunAt(times: typeof HOURLY, hours: number, workMs = 0): Promise<number[]> {
  const stopping = new AbortController();
  const begun: number[] = [];
  let nowMs = midnightMs;
  const pass = async (ms: number) => {
    nowMs += ms;
    if (nowMs >= midnightMs + hours * HOUR_MS) stopping.abort();
  };
  const work = () => {
    begun.push(Math.floor((nowMs - midnightMs) / MINUTE_MS));
    return pass(workMs);
  };
  await atTimes(times, work, { nowMs: () => nowMs, sleep: pass }, stopping.signal);
  return begun;
}

test('work of a time of day is done once a day', async () => {
  assert.equal(await begunAt(daily('02:15'), 49), [135, 135 + DAY_MS / MINUTE_MS]);
  assert.equal(await begunAt(daily('23:00'), 47), [23 * 60]);
});

test('hourly work is never done twice at once: a time that it misses is left out', async () => {
  assert.equal(await begunAt(HOURLY, 4), [60, 120, 180]);
  assert.equal(await begunAt(HOURLY, 6, 90 * MINUTE_MS), [60, 180, 300]);
});

test('a clock that is set back for a year does not keep the work from its next time', async () => {
  const stopping = new AbortController();
  let [nowMs, done] = [midnightMs + 365 * DAY_MS, 0];
  const sleep = async (ms: number) => {
    nowMs = nowMs > midnightMs + 300 * DAY_MS ? midnightMs : nowMs + ms;
  };
  const work = async () => {
    done += 1;
    stopping.abort();
  };
  await atTimes(daily('02:15'), work, { nowMs: () => nowMs, sleep }, stopping.signal);
  assert.is(done, 1);
  assert.is(Math.floor((nowMs - midnightMs) / MINUTE_MS), 135);
});

test.run();
