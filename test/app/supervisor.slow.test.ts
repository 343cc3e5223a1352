import pino from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChildSpec, supervise } from '../../src/app/supervisor.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });
const nothing = () => {};

const spec = (behaviour: string, more: Partial<ChildSpec> = {}): ChildSpec => ({
  name: behaviour,
  module: new URL('../support/child-program.ts', import.meta.url),
  args: [behaviour],
  env: () => process.env,
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

test('each start reads the environment, and messages are passed on', async () => {
  const { clock } = swiftClock(1);
  const settings: unknown[] = [];
  let starts = 0;
  const child = supervise(
    spec('die', {
      env: () => ({ ...process.env, SETTING: String(++starts) }),
      onMessage: (message) => settings.push((message as { setting: string }).setting),
    }),
    { clock, log },
  );
  await until('it has spoken twice', () => settings.length >= 2);
  await child.stop();
  assert.equal(settings.slice(0, 2), ['1', '2']);
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

test('a child that was started early begins once it may; its next start waits for nothing', async () => {
  const messages: unknown[] = [];
  let begin = () => {};
  const onMessage = (message: unknown) => messages.push(message);
  const early = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const child = supervise(spec('early', { onMessage, begin: early }), { clock: systemClock, log });
  await until('it is up', () => messages.length === 1);
  begin();
  await until('it has begun', () => messages.length === 2);
  assert.equal(messages[1], { begins: true });
  await child.stop();
});

test('a child that was started early and must stop before it may begin ends by itself', async () => {
  const messages: unknown[] = [];
  const onMessage = (message: unknown) => messages.push(message);
  const child = supervise(spec('early', { onMessage, begin: new Promise(() => {}) }), { clock: systemClock, log });
  await until('it is up', () => messages.length === 1);
  await child.stop();
  assert.equal(messages[1], { begins: false });
});

test.run();
