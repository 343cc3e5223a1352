import * as assert from 'uvu/assert';
import { type Deliveries, openSqliteDatabase } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { handClock } from '../support/hand-clock.ts';
import { merchantServer } from '../support/merchant-server.ts';
import { secretKey } from '../support/temp-database.ts';
import { testsIn } from '../support/tests-in.ts';
import { until } from '../support/until.ts';
import { inShop, webhookConfig } from '../support/webhook-shop.ts';

const { perEndpointMax } = webhookConfig;
const ORDERS = 120;

/** Counts what the dispatcher leases and records at a time. */
function watch(database: Readonly<{ deliveries: Deliveries; changeCount(): number }>) {
  const counts = { claimed: [] as number[], recorded: [] as number[], released: [] as number[] };
  const deliveries: Deliveries = {
    ...database.deliveries,
    async claim(limits) {
      const claimed = await database.deliveries.claim(limits);
      if (claimed.length > 0) counts.claimed.push(claimed.length);
      return claimed;
    },
    async record(recorded) {
      counts.recorded.push(recorded.length);
      await database.deliveries.record(recorded);
    },
    async release(deliveries) {
      counts.released.push(deliveries.length);
      await database.deliveries.release(deliveries);
    },
  };
  return { counts, watched: { ...database, deliveries } };
}

const test = testsIn(inShop);

test('results are recorded in batches, most with the next claim, and an endpoint has no more requests at once than its places', async (shop) => {
  let atOnce = 0;
  let most = 0;
  const server = await merchantServer((response) => {
    most = Math.max(most, ++atOnce);
    setImmediate(() => {
      atOnce--;
      response.writeHead(200).end();
    });
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  for (let n = 0; n < ORDERS; n++) await shop.cancelOne();
  let transactions = 0;
  const onWrite = ({ rows }: { rows: number }) => {
    if (rows > 0) transactions++;
  };
  const options = { file: shop.file, secretKey, busyTimeoutMs: 5_000, outageWaitS: 0 };
  const database = openSqliteDatabase({ ...options, onWrite });
  const { counts, watched } = watch(database);
  const dispatcher = shop.dispatch({ database: watched });
  const isDelivered = async () => (await shop.deliveries()).every(({ state }) => state === 'delivered');
  await until('everything is delivered', isDelivered);
  assert.is(server.received.length, ORDERS);
  assert.ok(most <= perEndpointMax, `${most} at once`);
  assert.ok(counts.recorded.length < ORDERS, `recorded ${counts.recorded}`);
  await dispatcher.stop();
  database.close();
  // Most claims are committed with results.
  const commands = counts.claimed.length + counts.recorded.length;
  assert.ok(transactions < commands, `${transactions} transactions, ${counts.claimed} and ${counts.recorded}`);
});

test('a delivery that waited long behind others of its endpoint is leased again before it is sent', async (shop) => {
  const answers: (() => void)[] = [];
  let isSlow = true;
  const server = await merchantServer((response, _, earlier) => {
    const answer = () => void response.writeHead(200).end();
    if (isSlow && earlier > 0) answers.push(answer);
    else answer();
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  for (let n = 0; n < 12; n++) await shop.cancelOne();
  const { counts, watched } = watch(shop.database);
  // By a clock that stands still: the first answer is a quick one on any machine.
  const { advance, nowMs } = handClock(shop.clock.nowMs());
  shop.dispatch({ database: watched, clock: { nowMs, sleep: systemClock.sleep } });
  await until('as many are under way as may be', () => answers.length === perEndpointMax);
  advance(10_000);
  isSlow = false;
  for (const answer of answers) answer();
  await until('all have arrived', () => server.received.length === 12);
  const released = counts.released.reduce((sum, count) => sum + count, 0);
  assert.ok(released > 0 && released <= 12 - 1 - perEndpointMax, `${released} leased again`);
});

test('when an endpoint stops answering, what was leased for its next rounds is not tried, and is due after the lease', async (shop) => {
  const answersMax = 12;
  let isRepaired = false;
  const server = await merchantServer((response, _, earlier) => {
    if (!isRepaired && earlier < answersMax) response.writeHead(200).end();
    else if (!isRepaired) response.destroy();
    else response.writeHead(200).end();
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  for (let n = 0; n < ORDERS; n++) await shop.cancelOne();
  const dispatcher = shop.dispatch();
  await until('the breaks are recorded', async () => {
    const tried = (await shop.deliveries()).filter(({ lastError }) => lastError !== null);
    return tried.length >= 5;
  });
  assert.ok(server.received.length < answersMax + ORDERS / 3, `${server.received.length} requests`);
  const waiting = (await shop.deliveries()).filter(({ state, attempts }) => state === 'waiting' && attempts === 0);
  assert.ok(waiting.length > ORDERS / 2, `${waiting.length} wait without an attempt`);
  isRepaired = true;
  await until('everything arrives once leases and pauses are over', async () => {
    shop.clock.skip(60_000);
    dispatcher.wake();
    return (await shop.deliveries()).every(({ state }) => state === 'delivered');
  });
  await dispatcher.stop();
});

test.run();
