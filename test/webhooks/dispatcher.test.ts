import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { DELAYS_S, inShop, type WebhookShop } from '../support/webhook-shop.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const answerWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, headers).end();

/** Waits until the only delivery has had this many attempts. */
const attempted = (shop: WebhookShop, times: number) =>
  until(`attempt ${times} is recorded`, async () => (await shop.only()).log.length === times);

/** Sends one event to an endpoint that answers so. @returns the delivery after one attempt, and what was received */
async function firstAttempt(shop: WebhookShop, answer: Answer, timeoutMs = 20_000) {
  const server = await startMerchantServer(answer);
  await shop.addEndpoint(`${server.origin}/hook`);
  await shop.cancelOne();
  shop.dispatch({}, { timeoutMs });
  await attempted(shop, 1);
  await server.close();
  const delivery = await shop.only();
  const [attempt] = delivery.log;
  assert.ok(attempt);
  return { delivery, attempt, waitMs: (delivery.dueAtMs ?? 0) - attempt.startedAtMs, server };
}

test(
  'an event arrives once, signed, with the documented headers and body',
  inShop(async (shop) => {
    const { delivery, attempt, server } = await firstAttempt(shop, (response) =>
      response.writeHead(200).end('{"received":true}'),
    );
    const sessionId = delivery.sessionId;
    assert.is(delivery.state, 'delivered');
    assert.is(delivery.dueAtMs, null);
    assert.equal(
      { ...attempt, startedAtMs: 0, durationMs: 0 },
      {
        deliveryId: delivery.id,
        attempt: 1,
        startedAtMs: 0,
        durationMs: 0,
        status: 200,
        error: null,
        responseExcerpt: '{"received":true}',
      },
    );

    assert.is(server.received.length, 1);
    const [request] = server.received;
    assert.ok(request);
    const { method, headers, body } = request;
    assert.is(method, 'POST');
    assert.is(headers['content-type'], 'application/json');
    assert.is(headers['user-agent'], 'Service-Webhook/1.0');
    assert.is(headers['x-service-event-type'], 'payment.cancelled');
    assert.is(headers['x-service-event-id'], delivery.eventId);
    assert.match(String(headers['x-service-nonce']), UUID_V4);
    const timestamp = String(headers['x-service-timestamp']);
    const { startedAtMs, durationMs } = attempt;
    assert.ok(
      Number(timestamp) >= Math.floor(startedAtMs / 1000) && Number(timestamp) * 1000 <= startedAtMs + durationMs,
    );
    const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);
    assert.is(
      headers['x-service-signature'],
      mac(shop.secret, `${timestamp}.${headers['x-service-nonce']}.${body}`).digest('hex'),
    );
    assert.is(headers['webhook-id'], delivery.eventId);
    assert.is(headers['webhook-timestamp'], timestamp);
    const key = Buffer.from(shop.secret.slice('whsec_'.length), 'base64');
    assert.is(
      headers['webhook-signature'],
      `v1,${mac(key, `${delivery.eventId}.${timestamp}.${body}`).digest('base64')}`,
    );

    const event = JSON.parse(body);
    assert.is(event.id, delivery.eventId);
    assert.is(event.type, 'payment.cancelled');
    assert.is(event.data.object.session_id, sessionId);
    assert.is(event.data.object.status, 'canceled');
  }),
);

test(
  'an endpoint that always fails is tried eleven times on schedule, with the same bytes and new signatures',
  inShop(async (shop) => {
    const server = await startMerchantServer(answerWith(500));
    await shop.addEndpoint(`${server.origin}/hook`);
    await shop.cancelOne();
    const dispatcher = shop.dispatch();
    for (let attempt = 1; attempt <= DELAYS_S.length; attempt++) {
      await attempted(shop, attempt);
      const { dueAtMs, state, log } = await shop.only();
      const last = log.at(-1);
      assert.is(state, 'waiting');
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
    await server.close();
  }),
);

test(
  'a response after the timeout leads to a duplicate with the same id and bytes',
  inShop(async (shop) => {
    const late: (() => void)[] = [];
    const server = await startMerchantServer((response, _, earlier) => {
      const answer = () => void response.writeHead(200).end();
      if (earlier === 0) late.push(answer);
      else answer();
    });
    await shop.addEndpoint(`${server.origin}/hook`);
    await shop.cancelOne();
    const dispatcher = shop.dispatch({}, { timeoutMs: 300 });
    await attempted(shop, 1);
    for (const answer of late) answer();
    const { log, state } = await shop.only();
    assert.equal([log[0]?.error, log[0]?.status, state], ['timeout', null, 'waiting']);
    shop.clock.skip(120_000);
    dispatcher.wake();
    await attempted(shop, 2);
    assert.is((await shop.only()).state, 'delivered');
    assert.is(server.received.length, 2);
    assert.is(server.received[0]?.body, server.received[1]?.body);
    assert.is(server.received[0]?.headers['webhook-id'], server.received[1]?.headers['webhook-id']);
    await server.close();
  }),
);

test.run();
