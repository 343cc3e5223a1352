/**
 * The bound on requests to one node: how many run, how many wait, and what those that cannot are told.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRequestQueue } from '../../../src/chains/transport/request-queue.ts';
import { faultOf } from '../../support/refusal.ts';

const open = (concurrencyMax: number) => openRequestQueue({ host: 'node:8545', concurrencyMax, requestTimeoutMs: 250 });
const never = () => new AbortController().signal;

/** Work that ends when it is told to. */
function held<T>(value: T) {
  let release = (): void => {};
  let hasStarted = false;
  const work = () => {
    hasStarted = true;
    return new Promise<T>((resolve) => {
      release = () => resolve(value);
    });
  };
  return { work, release: () => release(), hasStarted: () => hasStarted };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('a failure reaches its caller and frees the place', async () => {
  const queue = open(1);
  const bug = new TypeError('a bug');
  const throwNow = () => {
    throw bug;
  };
  for (const work of [() => Promise.reject(bug), throwNow]) {
    const thrown = await queue.add(never(), work).catch((error: unknown) => error);
    assert.is(thrown, bug);
  }
  assert.is(await queue.add(never(), async () => 'next'), 'next');
});

test('a request that runs keeps its place until it ends, whatever its signal says', async () => {
  const queue = open(1);
  const patience = new AbortController();
  const first = held('first');
  const second = held('second');
  const running = queue.add(patience.signal, first.work);
  const waiting = queue.add(never(), second.work);
  await settle();
  patience.abort();
  await settle();
  assert.is(second.hasStarted(), false);
  first.release();
  assert.is(await running, 'first');
  await settle();
  second.release();
  assert.is(await waiting, 'second');
});

test('more than 10,000 waiting requests are refused, and room is made again', async () => {
  const queue = open(1);
  const first = held('first');
  const running = queue.add(never(), first.work);
  const waiting = Array.from({ length: 10_000 }, (_, at) => queue.add(never(), async () => at));
  assert.is((await faultOf(queue.add(never(), async () => 'too many'))).code, 'node_busy');
  first.release();
  assert.is(await running, 'first');
  assert.is((await Promise.all(waiting)).length, 10_000);
  assert.is(await queue.add(never(), async () => 'again'), 'again');
});

test.run();
