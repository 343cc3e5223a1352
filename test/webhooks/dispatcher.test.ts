import * as assert from 'uvu/assert';
import { merchantServer } from '../support/merchant-server.ts';
import { testsIn } from '../support/tests-in.ts';
import { until } from '../support/until.ts';
import { DELAYS_S, inShop, type WebhookShop } from '../support/webhook-shop.ts';

/** Waits until the only delivery has had this many attempts. */
const attempted = (shop: WebhookShop, times: number) =>
  until(`attempt ${times} is recorded`, async () => (await shop.only()).log.length === times);

const test = testsIn(inShop);

test('an endpoint that always fails is tried eleven times on schedule, with the same bytes and new signatures', async (shop) => {
  const server = await merchantServer((response) => response.writeHead(500).end('broken'));
  await shop.addEndpoint(`${server.origin}/hook`);
  await shop.cancelOne();
  const dispatcher = shop.dispatch();
  for (let attempt = 1; attempt <= DELAYS_S.length; attempt++) {
    await attempted(shop, attempt);
    const { dueAtMs, state, log } = await shop.only();
    const last = log.at(-1);
    assert.is(state, 'waiting');
    assert.equal([last?.attempt, last?.status, last?.error, last?.responseExcerpt], [attempt, 500, null, 'broken']);
    const waitMs = (dueAtMs ?? 0) - (last?.startedAtMs ?? 0) - (last?.durationMs ?? 0);
    assert.is(waitMs, (DELAYS_S[attempt - 1] ?? 0) * 1000);
    shop.clock.skip(waitMs);
    dispatcher.wake();
  }
  await attempted(shop, 11);
  const { state, dueAtMs, attempts, lastStatus } = await shop.only();
  assert.equal([state, dueAtMs, attempts, lastStatus], ['failed', null, 11, 500]);
  assert.is(server.received.length, 11);
  const different = (values: unknown[]) => new Set(values).size;
  assert.is(different(server.received.map(({ body }) => body)), 1);
  assert.is(different(server.received.map(({ headers }) => headers['x-service-event-id'])), 1);
  for (const name of ['x-service-nonce', 'x-service-timestamp', 'x-service-signature', 'webhook-signature']) {
    assert.is(different(server.received.map(({ headers }) => headers[name])), 11, name);
  }
  shop.clock.skip(30 * 86_400_000);
  dispatcher.wake();
  await shop.addEndpoint(`${server.origin}/other`);
  await shop.cancelOne();
  await until('another event has gone out', () => server.on('/other').length === 1);
  // The event that had failed for good was not sent with it.
  const { eventId } = (await shop.deliveries()).find((delivery) => delivery.state === 'failed') ?? { eventId: '' };
  assert.is(server.received.filter(({ headers }) => headers['x-service-event-id'] === eventId).length, 11);
});

test.run();
