/** `quayside listen`: real events of the real API reach a handler, which verifies them as it verifies webhooks. */
import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ListenOptions, listen } from '../../scripts/cli/listen.ts';
import { newWebhookSecret } from '../../src/lib/id.ts';
import { type ApiServer, type ApiServerOptions, withApi } from '../support/api-server.ts';
import { type Answer, type Received, startMerchantServer } from '../support/merchant-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const ok: Answer = (response) => void response.writeHead(200).end('{"received":true}');

/** The documented check. */
const isAuthentic = ({ headers, body }: Received, secret: string): boolean => {
  const signed = `${headers['x-service-timestamp']}.${headers['x-service-nonce']}.${body}`;
  return createHmac('sha256', secret).update(signed).digest('hex') === headers['x-service-signature'];
};
const orderOf = ({ body }: Received) => JSON.parse(body).data.object.order_id;

async function cancel(api: ApiServer, orderId: string, key = api.testKey): Promise<void> {
  const { send } = api.client(key);
  const body = { amount: 1050, currency: 'USD', order_id: orderId };
  const { json, text } = await send('POST', '/api/v1/checkout/sessions/create', body);
  const { status } = await send('POST', `/api/v1/checkout/sessions/${(json as { id: string }).id}/cancel`);
  assert.is(status, 200, text);
}

type Bench = Readonly<{
  api: ApiServer;
  received: readonly Received[];
  secret: string;
  results: (string | number | null)[];
  troubles: (string | null)[];
  /** Starts to listen and waits until it has asked once. */
  start(more?: Partial<ListenOptions>): Promise<Readonly<{ stop(): Promise<void>; ended: Promise<void> }>>;
}>;

const onBench =
  (answer: Answer, use: (bench: Bench) => Promise<void>, options: ApiServerOptions = {}) =>
  () =>
    withApi(options, async (api) => {
      const handler = await startMerchantServer(answer);
      const stopping = new AbortController();
      const secret = newWebhookSecret();
      const results: (string | number | null)[] = [];
      const troubles: (string | null)[] = [];
      let asked = 0;
      const clock = {
        nowMs: api.clock.nowMs,
        // Waits for a moment, whatever was asked for; the count shows that a round has ended.
        sleep: async () => {
          asked++;
          await new Promise((resolve) => setTimeout(resolve, 10));
        },
      };
      let running: Promise<void> = Promise.resolve();
      const start: Bench['start'] = async (more = {}) => {
        running = listen({
          api: api.testKey,
          forwardTo: `${handler.origin}/hooks`,
          secret,
          clock,
          signal: stopping.signal,
          onForwarded: ({ status, error }) => void results.push(status ?? error),
          onTrouble: (message) => void troubles.push(message),
          ...more,
        });
        running.catch(() => {});
        const before = asked;
        await Promise.race([until('it has asked', () => asked > before), running]);
        return {
          ended: running,
          async stop() {
            stopping.abort();
            await running;
          },
        };
      };
      try {
        await use({ api, received: handler.received, secret, results, troubles, start });
      } finally {
        stopping.abort();
        await running.catch(() => {});
        await handler.close();
      }
    });

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

benchTest(
  'what happens from now on arrives once, in order, signed like a webhook and byte for byte',
  ok,
  async ({ api, received, secret, results, start }) => {
    await cancel(api, 'before');
    const { stop } = await start();
    await cancel(api, 'live', api.liveKey);
    for (let n = 0; n < 60; n++) await cancel(api, `o${n}`);
    await until('all have arrived', () => received.length === 60);
    await stop();
    assert.equal(
      received.map(orderOf),
      Array.from({ length: 60 }, (_, n) => `o${n}`),
    );
    assert.equal(new Set(results), new Set([200]));
    const { json, text } = await api.send('GET', '/api/v1/events?limit=100');
    assert.is((json as { data: unknown[] }).data.length, 61);
    for (const one of received) {
      assert.ok(text.includes(one.body));
      assert.ok(isAuthentic(one, secret));
      assert.equal(
        [
          one.method,
          one.path,
          one.headers['x-service-mode'],
          one.headers['x-service-event-type'],
          JSON.parse(one.body).livemode,
        ],
        ['POST', '/hooks', 'test', 'payment.cancelled', false],
      );
      assert.is(one.headers['webhook-id'], JSON.parse(one.body).id);
    }
  },
);

benchTest(
  'it also follows where every request must carry the second signature',
  ok,
  async ({ api, received, start }) => {
    const { stop } = await start();
    await cancel(api, 'o1');
    await until('it has arrived', () => received.length === 1);
    await stop();
    assert.equal(received.map(orderOf), ['o1']);
  },
  { requestSignature: 'required' },
);

benchTest(
  'a handler that is down, hangs up or redirects loses that event only',
  (response, _received, earlier) => {
    if (earlier === 0) response.destroy();
    else if (earlier === 1) response.writeHead(302, { Location: '/elsewhere' }).end();
    else response.writeHead(204).end();
  },
  async ({ api, received, results, start }) => {
    const { stop } = await start();
    for (const name of ['o1', 'o2', 'o3']) await cancel(api, name);
    await until('all were tried', () => results.length === 3);
    await stop();
    assert.match(String(results[0]), /does not answer/);
    assert.equal(results.slice(1), [302, 204]);
    assert.equal(
      received.map(({ path }) => path),
      ['/hooks', '/hooks', '/hooks'],
    );
  },
);

benchTest(
  'an API that cannot be reached is waited for, and nothing in between is missed',
  ok,
  async ({ api, received, troubles, start }) => {
    const proxy = await startTcpProxy(Number(new URL(api.baseUrl).port));
    const { stop } = await start({ api: { ...api.testKey, baseUrl: `http://127.0.0.1:${proxy.port}` } });
    await cancel(api, 'o1');
    await until('the first arrives', () => received.length === 1);
    proxy.pointTo(1);
    await until('the API is lost', () => troubles.length === 1);
    for (const name of ['o2', 'o3']) await cancel(api, name);
    proxy.pointTo(Number(new URL(api.baseUrl).port));
    await until('the others arrive', () => received.length === 3);
    await stop();
    await proxy.close();
    assert.equal(received.map(orderOf), ['o1', 'o2', 'o3']);
    assert.is(troubles.length, 2);
    assert.match(String(troubles[0]), /does not answer/);
    assert.is(troubles[1], null);
  },
);

benchTest(
  'only the types that were asked for are forwarded, and a wrong key ends it',
  ok,
  async ({ api, received, start }) => {
    const { stop } = await start({ types: ['payment.detected', 'payment.completed'] });
    await cancel(api, 'canceled');
    const created = await api.send('POST', '/api/v1/checkout/sessions/create', {
      amount: 1050,
      currency: 'USD',
      order_id: 'paid',
    });
    const { payment_options: options } = created.json as { payment_options: { address: string }[] };
    const to = String(options[0]?.address).slice(2).toLowerCase();
    await api
      .chain('ethereum')
      .confirm(await api.chain('ethereum').mine([{ to, currency: 'USDT', units: 10_500_000n }]));
    await until('both arrive', () => received.length === 2);
    await stop();
    assert.equal(
      received.map(({ headers }) => headers['x-service-event-type']),
      ['payment.detected', 'payment.completed'],
    );
    const wrong = listen({
      api: { ...api.testKey, apiSecret: 'ss_wrong' },
      forwardTo: 'http://127.0.0.1:1/',
      secret: newWebhookSecret(),
      clock: { nowMs: api.clock.nowMs, sleep: async () => {} },
      signal: new AbortController().signal,
      onForwarded() {},
      onTrouble() {},
    });
    const refused = await wrong.then(
      () => null,
      (error) => error,
    );
    assert.match(String(refused?.message), /answered 401.*invalid_signature.*`quayside key create --mode test`/s);
  },
);

test.run();
