import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChildSpec, supervise } from '../../src/app/supervisor.ts';
import type { Config } from '../../src/config/config.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { BEAT } from '../../src/lib/heartbeat.ts';
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

/**
 * A clock whose waits end with the child's next sign of life, however long that takes on a busy machine; from `skip` on
 * they pass at once.
 */
function pacedClock() {
  let beats = 0;
  let isSkipping = false;
  const clock: Clock = {
    nowMs: systemClock.nowMs,
    async sleep(_ms, signal) {
      const before = beats;
      while (!isSkipping && beats === before && !signal?.aborted) await systemClock.sleep(5);
      await systemClock.sleep(0);
    },
  };
  return {
    clock,
    onMessage(message: unknown) {
      if (message === BEAT) beats++;
    },
    /** Waits for more signs of life than a silent child gets intervals. */
    beatsOn(): Promise<void> {
      const wanted = beats + 30;
      return until('it has given signs of life', () => beats >= wanted);
    },
    skip(isSkipped: boolean) {
      isSkipping = isSkipped;
    },
  };
}

test('a child that hangs after signs of life is killed, with the reason in the log, and restarted', async () => {
  const { clock, onMessage: pace, beatsOn, skip } = pacedClock();
  const written: string[] = [];
  const noting = openLog('test', 'error', (line) => void written.push(line));
  const pids: number[] = [];
  const onMessage = (message: unknown) => {
    pace(message);
    const { pid } = Object(message) as { pid?: number };
    if (pid === undefined) return;
    pids.push(pid);
    skip(false);
  };
  const child = supervise(spec('hang', { onMessage }), { clock, log: noting });
  await until('it is up', () => pids.length > 0);
  await beatsOn();
  const [hung = 0] = pids;
  process.kill(hung, 'SIGSTOP');
  skip(true);
  await until('another one is up', () => pids.length > 1);
  assert.throws(() => process.kill(hung, 0), /ESRCH/, 'the first one is gone');
  const why = written.map((line) => JSON.parse(line)).find(({ code, pid }) => code === 'child_hung' && pid === hung);
  assert.match(why?.msg, /hang has given no sign of life for 60 s: it hangs, and is killed/);
  await child.stop();
});

test('a child that keeps giving signs of life is left alone', async () => {
  const { clock, onMessage, beatsOn } = pacedClock();
  let starts = 0;
  const settings = () => {
    starts += 1;
    return null;
  };
  const child = supervise(spec('hang', { settings, onMessage }), { clock, log });
  await beatsOn();
  await beatsOn();
  assert.is(starts, 1);
  await child.stop();
});

test('a child that never gave a sign of life is left alone', async () => {
  let [starts, isUp] = [0, false];
  const settings = () => {
    starts += 1;
    return null;
  };
  const onMessage = () => {
    isUp = true;
  };
  // Every wait of the supervisor passes at once.
  const child = supervise(spec('stay', { settings, onMessage }), { clock: swiftClock(1).clock, log });
  await until('it is up', () => isUp);
  await systemClock.sleep(500);
  assert.is(starts, 1);
  await child.stop();
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
  const onMessage = (message: unknown) => message !== BEAT && messages.push(message);
  const settings = () => ({ logLevel: 'info', units: 7n }) as unknown as Config;
  const child = supervise(spec('settings', { onMessage, settings }), { clock: systemClock, log });
  await until('it has begun and ended', () => messages.length === 3);
  const fault = { code: 'ended', message: 'it was given what it needs' };
  assert.equal(messages.slice(1), [{ given: settings() }, { fault }]);
  await child.stop();
});

test.run();
