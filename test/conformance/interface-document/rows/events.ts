/** Webhooks: what is sent, when, and what happens to what a receiver does not take. */
import * as assert from 'uvu/assert';
import { has } from '../../../support/fields.ts';
import { type Json, RETRY_DELAYS_S } from '../installation.ts';
import { canceled, converted, expired, failed, paidIn, refundedIn, refundsRejected, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import {
  accepted,
  eventAt,
  type Hook,
  nowS,
  quickStart,
  type Reply,
  refused,
  type Shop,
  signatureOf,
} from '../shop.ts';

/** Jitter takes at most a tenth off a delay. */
const JITTER = 0.9;
export const TIMEOUT_S = 30;

const completedEvent = async (shop: Shop): Promise<Hook> => (await paidIn(shop, 'bsc', 'USDT')).hook;
const objectOf = async (shop: Shop): Promise<Json> => (await completedEvent(shop)).event.data.object;
const statusReply =
  (...statuses: readonly number[]): Reply =>
  (response, earlier) =>
    void response.writeHead(statuses[Math.min(earlier, statuses.length - 1)] ?? 500).end();

/** A receiver that breaks the first connection. */
const breaks: Reply = (response, earlier) => {
  if (earlier === 0) response.destroy();
  else response.writeHead(200).end();
};

/**
 * Sends an event to a receiver that answers so, and waits for a number of attempts.
 * @returns them, and a function that counts those that there are later
 */
async function attempts(shop: Shop, path: string, reply: Reply, count: number) {
  await shop.once(`attempts on ${path}`, async () => {
    shop.trouble.reply(path, reply);
    const { session } = await quickStart(shop, { webhook_url: shop.trouble.url(path) });
    accepted(await shop.call('POST', `${SESSIONS}/${session.session_id}/cancel`));
  });
  await shop.trouble.count(path, count);
  return shop.trouble.on(path);
}

/** A receiver that is always down: the first attempt and every retry. */
const down = (shop: Shop) => attempts(shop, '/down', statusReply(500), 1 + RETRY_DELAYS_S.length);

/** A receiver that leaves the first attempt open. @returns how long that lasted in ms, and the attempts */
export const slow = (shop: Shop) =>
  shop.once('slow receiver', async () => {
    let leftAtMs = 0;
    const leaves: Reply = (response, earlier) => {
      if (earlier > 0) response.writeHead(200).end();
      else
        response.once('close', () => {
          leftAtMs = Date.now();
        });
    };
    const all = await attempts(shop, '/slow', leaves, 2);
    // From the second of the event on: a busy receiver begins to read later than the time begins to pass.
    return { openMs: leftAtMs - 1000 * all[0]?.event.created_at, all };
  });

export const eventSections = [
  section(
    'Events',
    row('The URL must be HTTPS', async (shop) => {
      const body = quickStart.body(shop, { webhook_url: 'http://shop.example/hooks' });
      refused(await shop.call('POST', '/v1/payment/sessions', body), 400, undefined, 'webhook_url');
      assert.match(shop.receiver.url('/shop'), /^https:/);
      await completedEvent(shop);
    }),
    row(
      [
        'Method: POST; Encoding: UTF-8; Header Content-Type: application/json',
        'Header X-Service-Signature: HMAC-SHA256, hex; Header X-Service-Timestamp: Unix seconds at signing',
        'Header X-Service-Nonce: UUID v4; Header X-Service-Event-Type; Header User-Agent: Service-Webhook/1.0',
        'The receiver rejects timestamps more than 5 minutes (300 seconds) from its own clock',
      ],
      async (shop) => {
        const hook = await completedEvent(shop);
        const { method, headers, event, raw, atMs } = hook;
        assert.is(method, 'POST');
        assert.equal(JSON.parse(raw), event);
        assert.match(headers['content-type'] ?? '', /^application\/json/);
        assert.is(headers['x-service-signature'], signatureOf(shop.endpointSecret, hook));
        const timestamp = Number(headers['x-service-timestamp']);
        assert.ok(timestamp >= event.created_at);
        assert.ok(Math.abs(timestamp - atMs / 1000) <= 300);
        const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
        assert.match(String(headers['x-service-nonce']), uuid);
        assert.is(headers['x-service-event-type'], 'payment.completed');
        assert.is(headers['user-agent'], 'Service-Webhook/1.0');
      },
    ),
    row('Delivery timeout: 30 seconds', async (shop) => {
      const { openMs } = await slow(shop);
      assert.ok(openMs >= TIMEOUT_S * 1000, `it was left after ${openMs} ms`);
    }),
    row('Header X-Service-Event-ID: unique event id', async (shop) => {
      await Promise.all([completedEvent(shop), canceled(shop)]);
      const ids = shop.receiver.on('/shop').map(({ headers }) => headers['x-service-event-id']);
      assert.ok(ids.length > 1);
      assert.is(new Set(ids).size, ids.length);
    }),
    row('Header User-Agent: Service-Webhook/1.0', async (shop) => {
      assert.is((await completedEvent(shop)).headers['user-agent'], 'Service-Webhook/1.0');
    }),
    row('The header event id and the body id: either may serve as the idempotency key', async (shop) => {
      const all = await attempts(shop, '/busy', statusReply(429, 200), 2);
      assert.is(new Set(all.map(({ event }) => event.id)).size, 1);
      assert.is(new Set(all.map(({ headers }) => headers['x-service-event-id'])).size, 1);
    }),
    row('signString = timestamp + . + nonce + . + raw request body (raw bytes)', async (shop) => {
      const { session } = await quickStart(shop, { webhook_url: shop.receiver.url('/signed') });
      accepted(await shop.call('POST', `${SESSIONS}/${session.session_id}/cancel`));
      const hook = await eventAt(shop.receiver, '/signed', session.session_id);
      assert.is(hook.headers['x-service-signature'], signatureOf(shop.installation.webhookSecret, hook));
      assert.is.not(
        hook.headers['x-service-signature'],
        signatureOf(shop.installation.webhookSecret, { ...hook, raw: `${hook.raw} ` }),
      );
    }),
  ),
  section(
    'Event types',
    row(
      [
        'payment.completed: the user paid and on-chain confirmation succeeded',
        'payment.failed: an error occurred during payment; payment.expired: the session timed out unpaid',
        'payment.cancelled: the merchant cancelled the session',
        'refund.succeeded: the refund completed and funds were returned; refund.failed: the refund failed',
        'data.object.status: completed, failed, expired or canceled',
        'refund: data.object.status: completed or failed',
      ],
      async (shop) => {
        const walks = await Promise.all([
          ...[paidIn(shop, 'tron', 'USDC'), failed(shop), expired(shop), canceled(shop)],
          ...[refundedIn(shop, 'tron', 'USDT'), refundsRejected(shop).then(({ processing }) => processing)],
        ]);
        assert.equal(
          walks.map(({ hook }) => `${hook.event.type} ${hook.event.data.object.status}`),
          [
            ...['payment.completed completed', 'payment.failed failed', 'payment.expired expired'],
            ...['payment.cancelled canceled', 'refund.succeeded completed', 'refund.failed failed'],
          ],
        );
      },
    ),
  ),
  section(
    'Payment event body',
    row('id: string, format evt_<nanosecond timestamp>', async (shop) => {
      const { id, created_at } = (await completedEvent(shop)).event;
      assert.match(id, /^evt_\d{19}$/);
      assert.ok(Math.abs(Number(BigInt(id.slice(4)) / 1_000_000_000n) - created_at) <= 1);
    }),
    row(
      [
        'type: string, event type; created_at: int64, Unix seconds; data.object.amount: int64, minor units',
        'data.object.currency: USDT or USDC; data.object.order_id: merchant order id',
        'data.object.session_id: payment session id; data.object.source: source system, value api',
      ],
      async (shop) => {
        const { created, hook } = await paidIn(shop, 'bsc', 'USDT');
        const { type, created_at, data } = hook.event;
        assert.is(type, 'payment.completed');
        assert.ok(Number.isInteger(created_at) && Math.abs(created_at - nowS()) < 3600);
        has(data.object, {
          amount: 1050,
          currency: 'USDT',
          order_id: created.metadata.order_id,
          session_id: created.id,
          source: 'api',
        });
      },
    ),
    row('data.object.exchange_rate: decimal string', async (shop) => {
      const { created, hook } = await converted(shop);
      assert.is(hook.event.data.object.exchange_rate, created.exchange_rate);
      assert.is((await objectOf(shop)).exchange_rate, '1.0000', 'at par');
    }),
  ),
  section(
    'Refund event body',
    row(
      [
        'id: string, event id; type: refund.succeeded or refund.failed; created_at: int64, Unix seconds',
        'data.object.session_id: original session; data.object.order_id: merchant order id; data.object.refund_id',
        'data.object.refund_amount: int64, minor units; data.object.refund_currency',
        'data.object.source: source system',
      ],
      async (shop) => {
        const { hook, session, body } = await refundedIn(shop, 'bsc', 'USDT');
        const { id, type, created_at, data } = hook.event;
        assert.is(id, hook.headers['x-service-event-id']);
        assert.is(type, 'refund.succeeded');
        assert.ok(Number.isInteger(created_at));
        has(data.object, {
          session_id: session.id,
          order_id: session.metadata.order_id,
          refund_id: body.refund_id,
          refund_amount: 450,
          refund_currency: 'USDT',
          source: 'api',
        });
      },
    ),
  ),
  section(
    'Receiver response and retries',
    row('2xx: delivered; no retry. The suggested body has the boolean field received set to true', async (shop) => {
      await attempts(shop, '/no-content', statusReply(204), 1);
      await down(shop);
      assert.is(shop.trouble.on('/no-content').length, 1);
    }),
    row('429: retry queue', async (shop) => {
      assert.is((await attempts(shop, '/busy', statusReply(429, 200), 2)).length, 2);
    }),
    row('5xx: retry queue', async (shop) => {
      assert.is((await attempts(shop, '/restarting', statusReply(503, 200), 2)).length, 2);
    }),
    row('Other 4xx: no retry', async (shop) => {
      await attempts(shop, '/forbidden', statusReply(403), 1);
      await down(shop);
      assert.is(shop.trouble.on('/forbidden').length, 1);
    }),
    row('Network error: retry', async (shop) => {
      const all = await attempts(shop, '/broken', breaks, 2);
      assert.is(new Set(all.map(({ event }) => event.id)).size, 1);
    }),
    row('Timeout: retry', async (shop) => assert.is((await slow(shop)).all.length, 2)),
    row('Retries: at most 10', async (shop) => {
      const { length } = await down(shop);
      assert.is(length, 11);
      // Half a minute later there is no other attempt.
      await slow(shop);
      assert.is(shop.trouble.on('/down').length, length);
    }),
    row('exponential backoff, doubling each time', async (shop) => {
      const times = (await down(shop)).map(({ atMs }) => atMs);
      for (const [at, delayS] of RETRY_DELAYS_S.entries()) {
        const pauseMs = Number(times[at + 1]) - Number(times[at]);
        assert.ok(pauseMs >= delayS * 1000 * JITTER, `retry ${at + 1} came after ${pauseMs} ms`);
      }
    }),
    row('starting at 2 minutes (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 minutes)', async (shop) => {
      const { webhooks } = shop.installation.shipped();
      assert.equal(
        webhooks.retry_delays_s.map((delayS: number) => delayS / 60),
        [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
      );
    }),
    row('Delivery is at least once; receivers must deduplicate by event id', async (shop) => {
      const all = await attempts(shop, '/restarting', statusReply(503, 200), 2);
      assert.is(new Set(all.map(({ raw }) => raw)).size, 1);
      assert.is(new Set(all.map(({ headers }) => headers['x-service-nonce'])).size, 2);
    }),
  ),
];
