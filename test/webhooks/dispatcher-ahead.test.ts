import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type DeliveryDatabase, openDeliveryDatabase } from '../../src/database/sqlite/delivery-database.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { secretKey } from '../support/temp-database.ts';
import { until } from '../support/until.ts';
import { inShop, webhookConfig } from '../support/webhook-shop.ts';

const { perEndpointMax } = webhookConfig;
const ORDERS = 120;

/** Counts what the dispatcher leases, gives back and records at a time. */
function watch(database: DeliveryDatabase) {
  const counts = { claimed: [] as number[], returned: 0, recorded: [] as number[] };
  const watched: DeliveryDatabase = {
    ...database,
    async claimDeliveries(limits) {
      const claimed = await database.claimDeliveries(limits);
      if (claimed.length > 0) counts.claimed.push(claimed.length);
      return claimed;
    },
    async returnDeliveries(leased) {
      counts.returned += leased.length;
      await database.returnDeliveries(leased);
    },
    async recordAttempts(recorded) {
      counts.recorded.push(recorded.length);
      await database.recordAttempts(recorded);
    },
  };
  return { counts, watched };
}

test(
  'an endpoint that answers quickly is claimed ahead and recorded in batches, with no more requests at once',
  inShop(async (shop) => {
    let atOnce = 0;
    let most = 0;
    const server = await startMerchantServer((response) => {
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
    const options = { file: shop.file, secretKey, busyTimeoutMs: 5_000, bytesMax: null };
    const database = openDeliveryDatabase({ ...options, onWrite });
    const { counts, watched } = watch(database);
    const dispatcher = shop.dispatch({ database: watched });
    const isDelivered = async () => (await shop.deliveries()).every(({ state }) => state === 'delivered');
    await until('everything is delivered', isDelivered);
    assert.is(server.received.length, ORDERS);
    assert.ok(most <= perEndpointMax, `${most} at once`);
    assert.ok(Math.max(...counts.claimed) > perEndpointMax, `claimed ${counts.claimed}`);
    assert.ok(Math.max(...counts.recorded) > perEndpointMax, `recorded ${counts.recorded}`);
    await dispatcher.stop();
    database.close();
    // Most claims are committed with results.
    const commands = counts.claimed.length + counts.recorded.length;
    assert.ok(transactions < commands, `${transactions} transactions, ${counts.claimed} and ${counts.recorded}`);
    await server.close();
  }),
);

test(
  'when an endpoint stops answering, what was claimed ahead for it is given back and not tried',
  inShop(async (shop) => {
    const answersMax = 12;
    const server = await startMerchantServer((response, _, earlier) => {
      if (earlier < answersMax) response.writeHead(200).end();
      else response.destroy();
    });
    await shop.addEndpoint(`${server.origin}/hook`);
    for (let n = 0; n < ORDERS; n++) await shop.cancelOne();
    const { counts, watched } = watch(shop.database);
    const dispatcher = shop.dispatch({ database: watched });
    await until('something is given back', () => counts.returned > 0);
    await until('the circuit breaker holds it up', async () => {
      const tried = (await shop.deliveries()).filter(({ lastError }) => lastError !== null);
      return tried.length >= 5;
    });
    await dispatcher.stop();
    // Two rounds of as many as may be under way, and one try after each pause until the stop.
    assert.ok(server.received.length < answersMax + ORDERS / 3, `${server.received.length} requests`);
    const waiting = (await shop.deliveries()).filter(({ state, attempts }) => state === 'waiting' && attempts === 0);
    assert.ok(waiting.length > ORDERS / 2, `${waiting.length} wait without an attempt`);
    await server.close();
  }),
);

test.run();
