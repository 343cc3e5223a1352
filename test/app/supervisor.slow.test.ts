import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChildSpec, supervise } from '../../src/app/supervisor.ts';
import type { Config } from '../../src/config/config.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { until } from '../support/until.ts';

const log = openLog('test', 'silent');
const nothing = () => {};

const spec = (behaviour: string, more: Partial<ChildSpec> = {}): ChildSpec => ({
  name: behaviour,
  module: new URL('./child-program.ts', import.meta.url),
  args: [behaviour],
  onHalted: nothing,
  ...more,
});

/** A clock whose waits pass at once and are recorded; `stepMs` pass between two readings. */
function swiftClock(stepMs: number): { clock: Clock; waits: number[] } {
  const waits: number[] = [];
  let nowMs = 0;
  const clock: Clock = {
    nowMs() {
      nowMs += stepMs;
      return nowMs;
    },
    async sleep(ms, signal) {
      if (!signal?.aborted) waits.push(ms);
    },
  };
  return { clock, waits };
}

test('a child that keeps dying is restarted with growing pauses', async () => {
  const { clock, waits } = swiftClock(1);
  const child = supervise(spec('die'), { clock, log });
  await until('it has died four times', () => waits.length >= 4);
  await child.stop();
  assert.equal(waits.slice(0, 4), [500, 1000, 2000, 4000]);
});

test('after a healthy run the pause is the shortest again', async () => {
  const { clock, waits } = swiftClock(60_000);
  const child = supervise(spec('die'), { clock, log });
  await until('it has died three times', () => waits.length >= 3);
  await child.stop();
  assert.equal(waits.slice(0, 3), [500, 500, 500]);
});

test('the pause does not grow for a child that was ready', async () => {
  const { clock, waits } = swiftClock(1);
  const child = supervise(spec('serve'), { clock, log });
  await until('it has died three times', () => waits.length >= 3);
  await child.stop();
  assert.equal(waits.slice(0, 3), [500, 500, 500]);
});

test('a child that cannot start is left halted', async () => {
  const { clock, waits } = swiftClock(1);
  const halts: number[] = [];
  const child = supervise(spec('refuse', { onHalted: (code) => halts.push(code) }), { clock, log });
  await until('it is halted', () => halts.length > 0);
  assert.equal(halts, [2]);
  assert.equal(waits, [], 'nothing waits for another start');
  await child.stop();
});

test('each start reads the settings, and messages are passed on', async () => {
  const { clock } = swiftClock(1);
  const pids = new Set<number>();
  let reads = 0;
  const settings = () => {
    reads += 1;
    return null;
  };
  const onMessage = (message: unknown) => pids.add((message as { pid: number }).pid);
  const child = supervise(spec('die', { settings, onMessage }), { clock, log });
  await until('two have spoken', () => pids.size >= 2);
  await child.stop();
  assert.ok(reads >= 2);
});

test('stop ends a child with SIGTERM, and one that ignores it by force', async () => {
  for (const behaviour of ['stay', 'stubborn']) {
    let isUp = false;
    const onMessage = () => {
      isUp = true;
    };
    // The wait for a stubborn child passes at once; a well-behaved child gets the real one.
    const clock = behaviour === 'stay' ? systemClock : swiftClock(1).clock;
    const child = supervise(spec(behaviour, { onMessage }), { clock, log });
    await until('it is up', () => isUp);
    await child.stop();
  }
});

test('a child is sent the settings of each start, with their bigints', async () => {
  const messages: unknown[] = [];
  const onMessage = (message: unknown) => messages.push(message);
  const settings = () => ({ logLevel: 'info', units: 7n }) as unknown as Config;
  const child = supervise(spec('settings', { onMessage, settings }), { clock: systemClock, log });
  await until('it has begun and ended', () => messages.length === 3);
  const fault = { code: 'ended', message: 'it was given what it needs' };
  assert.equal(messages.slice(1), [{ given: settings() }, { fault }]);
  await child.stop();
});

test.run();
