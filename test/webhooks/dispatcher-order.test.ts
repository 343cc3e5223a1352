import { EventEmitter, once } from 'node:events';
import * as assert from 'uvu/assert';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { column } from '../support/fields.ts';
import { type Answer, merchantServer } from '../support/merchant-server.ts';
import { testsIn } from '../support/tests-in.ts';
import { until } from '../support/until.ts';
import { inShop } from '../support/webhook-shop.ts';

const ok: Answer = (response) => void response.writeHead(200).end();
const hang: Answer = () => {};

/** Returns a clock whose waits end only by their signal or by `tick`. */
function tickingClock(): Clock & { isAwaited(): boolean; tick(): void } {
  const ticks = new EventEmitter();
  return {
    nowMs: systemClock.nowMs,
    async sleep(_ms, signal) {
      if (signal?.aborted) return;
      await Promise.race([once(ticks, 'tick'), ...(signal ? [once(signal, 'abort')] : [])]);
    },
    isAwaited: () => ticks.listenerCount('tick') > 0,
    tick: () => void ticks.emit('tick'),
  };
}

const test = testsIn(inShop);

test('a dead endpoint delays no other: the live one gets everything while the dead one hangs', async (shop) => {
  const dead = await merchantServer(hang);
  const live = await merchantServer(ok);
  await shop.addEndpoint(`${dead.origin}/hook`);
  await shop.addEndpoint(`${live.origin}/hook`);
  const sessions = new Set<string>();
  for (let count = 0; count < 60; count++) sessions.add(await shop.cancelOne());
  // Long enough that the test fails rather than pass by the timeouts of the dead endpoint.
  shop.dispatch({}, { timeoutMs: 300_000 });
  await until('the live endpoint has every event', () => live.received.length === 60);
  assert.equal(new Set(live.received.map(({ body }) => JSON.parse(body).data.object.session_id)), sessions);
  // The dead one was tried, with as many concurrent requests as an endpoint may have.
  assert.is(dead.received.length, 4);
});

test('many dead endpoints do not take all capacity', async (shop) => {
  const dead = await merchantServer(hang);
  const live = await merchantServer(ok);
  for (let endpoint = 0; endpoint < 150; endpoint++) await shop.addEndpoint(`${dead.origin}/${endpoint}`);
  for (let count = 0; count < 5; count++) await shop.cancelOne();
  const dispatcher = shop.dispatch({}, { timeoutMs: 300_000 });
  await until('the dead ones have all their places', () => dead.received.length >= 300);
  await shop.addEndpoint(`${live.origin}/hook`);
  await shop.cancelOne();
  dispatcher.wake();
  await until('the live endpoint has its event', () => live.received.length === 1);
  assert.is(dead.received.length, 300);
});

test('hosts that sessions name and that never answer take a quarter of all places, one each', async (shop) => {
  const dead = await merchantServer(hang);
  const live = await merchantServer(ok);
  const { port } = new URL(dead.origin);
  for (let host = 1; host <= 140; host++) await shop.cancelOne(`http://dead${host}.example:${port}/hook`);
  await shop.addEndpoint(`${live.origin}/hook`);
  await shop.cancelOne();
  const guard = createUrlGuard(['127.0.0.0/8'], async () => ['127.0.0.1']);
  shop.dispatch({ guard }, { timeoutMs: 300_000 });
  await until('the live endpoint has its event', () => live.received.length === 1);
  await until('the hosts have their places', () => dead.received.length === 128);
});

test('the events of one session arrive in order, one at a time, while sessions run in parallel', async (shop) => {
  let open = 0;
  let openMax = 0;
  const openSessions = new Set<string>();
  const overlaps: string[] = [];
  /** The first answers wait until as many requests are open as may be. */
  let held: (() => void)[] | null = [];
  const server = await merchantServer((response, { body }) => {
    const session: string = JSON.parse(body).data.object.session_id;
    if (openSessions.has(session)) overlaps.push(session);
    openSessions.add(session);
    openMax = Math.max(openMax, ++open);
    const answer = async (): Promise<void> => {
      await systemClock.sleep(30);
      open--;
      openSessions.delete(session);
      response.writeHead(200).end();
    };
    if (held === null) void answer();
    else held.push(answer);
    if (held?.length !== 4) return;
    for (const one of held) one();
    held = null;
  });
  await shop.addEndpoint(`${server.origin}/hook`, ['payment.detected', 'payment.partially_paid', 'payment.late']);
  const sessions = await Promise.all(Array.from({ length: 8 }, () => shop.order()));
  const pay = async (units: bigint) => {
    const coins = sessions.map(({ addresses }) => ({ to: addresses.evm ?? '', currency: 'USDT' as const, units }));
    const block = await shop.chain.mine(coins);
    await shop.chain.confirm(block);
  };
  await pay(4_000_000n);
  await pay(6_000_000n);
  shop.dispatch();
  const expected = ['payment.detected', 'payment.partially_paid', 'payment.completed'];
  await until('all have arrived', () => server.received.length === sessions.length * expected.length);
  for (const { id } of sessions) {
    const events = server.received.map(({ body }) => JSON.parse(body)).filter((e) => e.data.object.session_id === id);
    assert.equal(column(events, 'type'), expected);
  }
  assert.equal(overlaps, []);
  assert.is(openMax, 4);
});

test('a retry does not hold back the later events of its session', async (shop) => {
  const server = await merchantServer((response, { headers }) => {
    response.writeHead(headers['x-service-event-type'] === 'payment.detected' ? 500 : 200).end();
  });
  await shop.addEndpoint(`${server.origin}/hook`, ['payment.detected']);
  const { addresses } = await shop.order();
  const block = await shop.chain.mine([{ to: addresses.evm ?? '', currency: 'USDT', units: 10_000_000n }]);
  await shop.chain.confirm(block);
  shop.dispatch();
  await until('both were tried', async () => (await shop.deliveries()).every(({ attempts }) => attempts === 1));
  assert.equal(
    server.received.map(({ headers }) => headers['x-service-event-type']),
    ['payment.detected', 'payment.completed'],
  );
  assert.equal(column(await shop.deliveries(), 'state'), ['delivered', 'waiting']);
});

test('two dispatchers on one file share the work and send nothing twice', async (shop) => {
  const server = await merchantServer(ok);
  await shop.addEndpoint(`${server.origin}/a`);
  await shop.addEndpoint(`${server.origin}/b`);
  const other = shop.connect();
  const first = shop.dispatch();
  const second = shop.dispatch({ database: other });
  for (let count = 0; count < 30; count++) await shop.cancelOne();
  await until('all are recorded', async () => (await shop.deliveries()).every(({ state }) => state === 'delivered'));
  assert.is(server.received.length, 60);
  const different = new Set(server.received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`));
  assert.is(different.size, 60);
  await Promise.all([first.stop(), second.stop()]);
  other.close();
});

test('the next event of a session is sent as soon as the one before is recorded', async (shop) => {
  const server = await merchantServer(ok);
  await shop.addEndpoint(`${server.origin}/hook`, ['payment.detected', 'payment.partially_paid']);
  const { addresses } = await shop.order();
  const block = await shop.chain.mine([{ to: addresses.evm ?? '', currency: 'USDT', units: 1_000_000n }]);
  await shop.chain.confirm(block);
  const clock = tickingClock();
  shop.dispatch({ clock });
  // The clock never ticks, so only the record of the first can have triggered the second.
  await until('both have arrived', () => server.received.length === 2);
});

test("another process's commit is noticed at the next tick", async (shop) => {
  const server = await merchantServer(ok);
  await shop.addEndpoint(`${server.origin}/hook`);
  const clock = tickingClock();
  const other = shop.connect();
  const dispatcher = shop.dispatch({ database: other, clock });
  await until('it rests', clock.isAwaited);
  await shop.cancelOne();
  clock.tick();
  await until('the event has arrived', () => server.received.length === 1);
  await dispatcher.stop();
  other.close();
});

test.run();
