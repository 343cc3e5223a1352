/**
 * When programs run.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { atTimes, daily } from '../../src/app/nightly.ts';
import { aborted } from '../../src/lib/clock.ts';
import { until } from '../support/until.ts';

test('a time of day is a cron expression', () => {
  assert.is(daily('02:15'), '15 2 * * *');
  assert.is(daily('23:00'), '0 23 * * *');
});

test('the work is done at its times, never twice at once, and is awaited at the stop', async () => {
  const stopping = new AbortController();
  let [begun, ended] = [0, 0];
  const work = async () => {
    begun += 1;
    if (begun > 1) await aborted(stopping.signal);
    ended += 1;
  };
  const running = atTimes('* * * * * *', work, stopping.signal);
  await until('it was done once, and goes on', () => begun === 2);
  await until('another second has passed', () => Date.now() % 1000 < 500);
  await until('and another', () => Date.now() % 1000 >= 500);
  assert.equal({ begun, ended }, { begun: 2, ended: 1 });
  stopping.abort();
  await running;
  assert.is(ended, 2);
});

test.run();
