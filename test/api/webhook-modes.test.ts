/** A key of test mode cannot make an endpoint of live mode believe in a payment. */
import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { startDispatcher } from '../../src/webhooks/dispatcher.ts';
import { startApi } from '../support/api-server.ts';
import { type Received, startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { webhookConfig } from '../support/webhook-shop.ts';
import { expectError } from './expect-error.ts';

const QUICK = '/v1/payment/sessions';
const api = await startApi();
const handler = await startMerchantServer((response) => void response.writeHead(200).end());
test.after(async () => {
  await handler.close();
  await api.close();
});

/** The documented check. */
const isAuthentic = ({ headers, body }: Received, secret: string): boolean => {
  const signed = `${headers['x-service-timestamp']}.${headers['x-service-nonce']}.${body}`;
  return createHmac('sha256', secret).update(signed).digest('hex') === headers['x-service-signature'];
};

const order = (webhookUrl: string, orderId: string) => ({
  order_id: orderId,
  amount: { value: '10.50', currency: 'USD' },
  webhook_url: webhookUrl,
});

test('a test session cannot name an endpoint of live mode', async () => {
  const live = issueEndpoint(api.merchantId, 'live', 'https://shop.example/live', [], api.clock.nowMs());
  await api.database().endpoints.add(live);
  const refused = await api.send('POST', QUICK, order('https://SHOP.example:443/a/../live#x', 'LIVE-ORDER-1000'));
  expectError(refused, { status: 400, code: 'invalid_parameter', param: 'webhook_url' });
  assert.match(refused.text, /is an endpoint of live mode/);
});

test('play money never makes an authentic `payment.completed` of the live handler', async () => {
  const url = `${handler.origin}/hook`;
  const endpoint = issueEndpoint(api.merchantId, 'live', url, [], api.clock.nowMs());
  await api.database().endpoints.add(endpoint);
  // The endpoint's handler, by another URL.
  const answer = await api.send('POST', QUICK, order(`${url}?from=attacker`, 'LIVE-ORDER-1001'));
  assert.is(answer.status, 200, answer.text);
  const { session } = answer.json as { session: Record<string, string> };
  const to = String(session.qr_code_data).slice(2).toLowerCase();
  const block = await api.chain('ethereum').mine([{ to, currency: 'USDT', units: 10_500_000n }]);
  await api.chain('ethereum').confirm(block);
  const log = openLog('test', 'silent');
  const clock = { nowMs: api.clock.nowMs, sleep: systemClock.sleep };
  const dispatcher = startDispatcher({
    database: api.database(),
    holder: 'one',
    config: { ...webhookConfig },
    clock,
    log,
  });
  await until('the forged event arrives', async () => handler.received.length === 1);
  await dispatcher.stop();

  const [received] = handler.received;
  assert.ok(received);
  const event = JSON.parse(received.body);
  const { order_id: orderId, status } = event.data.object;
  assert.equal(
    { type: event.type, orderId, status },
    { type: 'payment.completed', orderId: 'LIVE-ORDER-1001', status: 'completed' },
  );
  const [live, play] = await Promise.all([
    api.database().endpoints.findSecret(api.merchantId, 'live'),
    api.database().endpoints.findSecret(api.merchantId, 'test'),
  ]);
  assert.ok(live && play);
  assert.not.ok(isAuthentic(received, endpoint.secret), 'signed with the endpoint’s live secret');
  assert.not.ok(isAuthentic(received, live.secret), 'signed with the store’s live secret');
  assert.ok(isAuthentic(received, play.secret));
  assert.is(event.livemode, false);
  assert.is(received.headers['x-service-mode'], 'test');
});

test.run();
