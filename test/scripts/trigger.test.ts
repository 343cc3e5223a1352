/** `webhook test --event`: a marked event takes the way of real ones, is valid as they are, and changes no session. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { webhooksTest } from '../../scripts/cli/webhook-test.ts';
import { eventDocs } from '../../src/api/webhook-events.ts';
import type { Config } from '../../src/config/config.ts';
import { eventTypes, extendedEvents } from '../../src/core/event.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { inShop, type WebhookShop } from '../support/webhook-shop.ts';

async function run({ database, clock }: WebhookShop, type: string, options = {}) {
  const installation = { database, clock, config: {} as Config };
  const { json } = await webhooksTest.run(
    { args: [], options: { event: type, ...options }, env: {}, cwd: '.' },
    installation,
  );
  return JSON.parse((json as { body: string }).body);
}

test(
  'every type is valid by the schema of real events, marked, of test mode, and stored as it is shown',
  inShop(async (shop) => {
    const { id } = await shop.order();
    const before = await shop.database.sessions.find(id);
    for (const type of eventTypes) {
      const body = await run(shop, type);
      assert.equal([body.type, body.triggered, body.livemode, body.data.object.session_id], [type, true, false, id]);
      const result = eventDocs.find((doc) => doc.type === type)?.schema.safeParse(body);
      assert.equal(result?.data, body, type);
      const stored = await shop.database.events.find(body.id);
      assert.equal([stored?.type, stored?.mode, JSON.parse(stored?.body ?? '')], [type, 'test', body]);
    }
    assert.equal(await shop.database.sessions.find(id), before);
  }),
);

test(
  'a real dispatcher sends it to the endpoints that want it, with the fields that were replaced',
  inShop(async (shop) => {
    const handler = await startMerchantServer((response) => void response.writeHead(200).end());
    await shop.addEndpoint(`${handler.origin}/plain`);
    await shop.addEndpoint(`${handler.origin}/all`, [...extendedEvents]);
    await shop.order();
    await run(shop, 'payment.detected');
    const body = await run(shop, 'payment.completed', { override: 'order_id=order-7,amount=500' });
    assert.equal(
      [body.data.object.order_id, body.data.object.amount, body.data.object.status],
      ['order-7', 500, 'completed'],
    );
    shop.dispatch();
    await until('all have arrived', () => handler.received.length === 3);
    assert.equal(
      handler.on('/plain').map((one) => JSON.parse(one.body)),
      [body],
    );
    assert.is(handler.on('/all').length, 2);
    await handler.close();
  }),
);

test(
  'without a test session, with an unknown type, field or value, nothing is stored',
  inShop(async (shop) => {
    const refusal = (type: string, options = {}) =>
      run(shop, type, options).then(
        () => null,
        (error) => error.message,
      );
    assert.match(await refusal('payment.completed'), /no test session yet/);
    await shop.order();
    assert.match(await refusal('payment.completed', { session: 'cs_none' }), /no test session cs_none/);
    assert.match(await refusal('payment.nothing'), /--event must be one of/);
    for (const override of ['status=paid', 'session_id=x', 'nothing=1', 'amount=1.5', 'amount']) {
      assert.match(await refusal('payment.completed', { override }), /--override/, override);
    }
    const [store] = await shop.database.stores.list();
    const range = { fromId: 'evt_', beforeId: 'evt_:', first: 'newest', limit: 9 } as const;
    assert.equal(await shop.database.events.list({ storeId: store?.id ?? '', mode: 'test', ...range }), []);
  }),
);

test.run();
