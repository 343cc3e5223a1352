/**
 * The loop of the background services: its pauses, what it logs, and what ends it.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { permanent, transient } from '../../src/core/fault.ts';
import { type EveryOptions, every, type Round } from '../../src/lib/every.ts';

const offline = () => transient('database_busy', 'the database is busy');

type Step = () => Round;

/** Runs the steps one after another, then aborts the loop. */
function scene(steps: readonly Step[], more: Partial<EveryOptions> = {}, ms = 1000) {
  const stopping = new AbortController();
  const lines: string[] = [];
  const slept: number[] = [];
  let rounds = 0;
  const work = async (): Promise<Round> => {
    const step = steps[rounds++];
    if (rounds >= steps.length) stopping.abort();
    return step?.();
  };
  const say = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${text ? `${(first as { code: string }).code} ${text}` : first}`);
  const log = { warn: say('warn'), info: say('info') } as unknown as EveryOptions['log'];
  const clock = { sleep: async (ms: number) => void slept.push(ms) };
  const run = () => every(ms, work, { clock, log, signal: stopping.signal, what: 'the work', ...more });
  return { run, lines, slept, stopping, rounds: () => rounds };
}

const fail = (): Round => {
  throw offline();
};
const ok = (): Round => undefined;
const again = (): Round => 'again';

test('work is done once in each interval until the signal aborts', async () => {
  const { run, slept, rounds, lines } = scene([ok, ok, ok]);
  await run();
  assert.is(rounds(), 3);
  assert.equal(slept, [1000, 1000, 1000]);
  assert.equal(lines, []);
});

test('work that has more to do continues without a pause', async () => {
  const { run, slept, rounds } = scene([again, again, ok, again, ok]);
  await run();
  assert.is(rounds(), 5);
  assert.equal(slept, [1000, 1000]);
});

test('work can end the loop itself', async () => {
  const { run, slept, rounds } = scene([ok, () => 'done', ok]);
  await run();
  assert.is(rounds(), 2);
  assert.equal(slept, [1000]);
});

test('an outage is logged once, and so is its end', async () => {
  const { run, lines } = scene([ok, fail, fail, fail, ok, ok, fail, ok]);
  await run();
  const outage = ['warn database_busy the work failed; retrying', 'info the work works again'];
  assert.equal(lines, [...outage, ...outage]);
});

test('retries come soon, then less often, and soon again after a success', async () => {
  const { run, slept } = scene([...Array<Step>(8).fill(fail), again, fail, ok]);
  await run();
  assert.equal(slept, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 250, 1000]);
});

test('a fault while stopping ends the loop silently', async () => {
  const { run, lines, slept } = scene([ok, fail]);
  await run();
  assert.equal(lines, []);
  assert.equal(slept, [1000]);
});

test('a permanent fault and a broken invariant are thrown', async () => {
  for (const error of [permanent('database_corrupt', 'it is corrupt'), new TypeError('a bug')]) {
    const { run, slept, rounds } = scene([
      ok,
      () => {
        throw error;
      },
      ok,
    ]);
    let thrown: unknown;
    await run().catch((reason: unknown) => {
      thrown = reason;
    });
    assert.is(thrown, error);
    assert.is(rounds(), 2);
    assert.equal(slept, [1000]);
  }
});

test('a service that reports faults itself gets each of them, permanent ones too', async () => {
  const heard: string[] = [];
  const onFault = ({ code }: { code: string }) => void heard.push(code);
  const stuck = (): Round => {
    throw permanent('signer_locked', 'unlock the signer');
  };
  const { run, lines, slept } = scene([stuck, fail, ok, ok], { onFault });
  await run();
  assert.equal(heard, ['signer_locked', 'database_busy']);
  assert.equal(lines, []);
  assert.equal(slept, [250, 500, 1000, 1000]);
});

test('a fault in the report does not end the service, a bug in it does', async () => {
  const writeFails = scene([fail, fail, ok], { onFault: () => Promise.reject(offline()) });
  await writeFails.run();
  assert.is(writeFails.rounds(), 3);
  const bug = new TypeError('a bug');
  const { run, rounds } = scene([fail, ok, ok], { onFault: () => Promise.reject(bug) });
  let thrown: unknown;
  await run().catch((reason: unknown) => {
    thrown = reason;
  });
  assert.is(thrown, bug);
  assert.is(rounds(), 1);
});

test('a given wait replaces the pause between rounds, not the one before a retry', async () => {
  const waited: number[] = [];
  const wait = async (ms: number) => void waited.push(ms);
  const { run, slept } = scene([ok, fail, ok, ok], { wait });
  await run();
  assert.equal(waited, [1000, 1000, 1000]);
  assert.equal(slept, [250]);
});

test.run();
