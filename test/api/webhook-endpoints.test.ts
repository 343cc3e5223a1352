/** Webhook endpoints by API do what the operator's command does. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { startApi } from '../support/api-server.ts';
import { column } from '../support/fields.ts';
import { expectError } from './expect-error.ts';

const PATH = '/api/v1/webhook_endpoints';
const api = await startApi({
  checkWebhookUrl: async (url) => (url.startsWith('https:') ? null : 'The URL must start with https://.'),
});
test.after(() => api.close());

type Created = Readonly<{ id: string; url: string; secret: string }>;
type List = Readonly<{ object: string; data: readonly Created[]; has_more: boolean }>;

/** Creates a store and returns the client of a key of it. */
async function newStore(mode: 'test' | 'live' = 'test') {
  const storeId = await api.addMerchant();
  return { storeId, ...api.client(await api.addKey(storeId, mode)) };
}

const list = async (send: typeof api.send): Promise<List> => (await send('GET', PATH)).json as List;

test('an endpoint is created with a secret that is shown once, and signs what it gets', async () => {
  const { storeId, send } = await newStore();
  const answer = await send('POST', PATH, { url: 'https://shop.example/a', extended_events: ['payment.late'] });
  assert.is(answer.status, 201, answer.text);
  const { id, secret, ...rest } = answer.json as Created;
  assert.match(id, /^we_[0-9a-z]{26}$/);
  assert.match(secret, /^whsec_/);
  const shown = {
    object: 'webhook_endpoint',
    url: 'https://shop.example/a',
    extended_events: ['payment.late'],
    enabled: true,
    created_at: api.clock.nowS(),
  };
  assert.equal(rest, shown);
  assert.is((await api.database().endpoints.findSecret(id, 'test'))?.secret, secret);
  assert.equal(await list(send), { object: 'list', data: [{ ...shown, id }], has_more: false });
  const [entry] = await api.database().audit.list(1);
  assert.equal(
    { ...entry, id: 0, operator: '' },
    {
      id: 0,
      atMs: api.clock.nowMs(),
      operator: '',
      command: 'POST /api/v1/webhook_endpoints',
      reason: null,
      target: id,
      before: null,
      after: { storeId, mode: 'test', url: 'https://shop.example/a', extendedEvents: 'payment.late' },
    },
  );
  assert.match(entry?.operator ?? '', /^API key key_/);
});

test('a wrong body is refused by name, and a URL as the command refuses it', async () => {
  const { storeId, send } = await newStore();
  const live = issueEndpoint(storeId, 'live', 'https://shop.example/live', [], api.clock.nowMs());
  await api.database().endpoints.add(live);
  for (const [body, code, param] of [
    [{}, 'missing_parameter', 'url'],
    [{ url: 7 }, 'invalid_parameter', 'url'],
    [{ url: 'http://shop.example/' }, 'invalid_parameter', 'url'],
    [{ url: 'https://shop.example/live' }, 'invalid_parameter', 'url'],
    [
      { url: 'https://shop.example/', extended_events: ['payment.completed'] },
      'invalid_parameter',
      'extended_events[0]',
    ],
  ] as const) {
    expectError(await send('POST', PATH, body), { status: 400, code, param });
  }
  assert.equal((await list(send)).data, []);
});

test('a repeated request with its key makes one endpoint and shows its secret again', async () => {
  const { send } = await newStore();
  const bend = { headers: { 'Idempotency-Key': 'setup-1' } };
  const body = { url: 'https://shop.example/once' };
  const first = await send('POST', PATH, body, bend);
  const again = await send('POST', PATH, { ...body, extended_events: [] }, bend);
  assert.equal([again.status, again.headers['idempotent-replayed']], [201, 'true']);
  assert.equal(again.json, first.json);
  const other = await send('POST', PATH, { url: 'https://shop.example/two' }, bend);
  expectError(other, { status: 400, code: 'idempotency_key_conflict', param: 'Idempotency-Key' });
  assert.is((await list(send)).data.length, 1);
  await send('DELETE', `${PATH}/${(first.json as Created).id}`);
  expectError(await send('POST', PATH, body, bend), { status: 404, code: 'endpoint_not_found' });
});

test('a store has no more endpoints than it may have, even if it asks for them at once', async () => {
  const { send } = await newStore();
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, n) => send('POST', PATH, { url: `https://shop.example/${n}` })),
  );
  assert.is(answers.filter(({ status }) => status === 201).length, 20);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectError(answer, { status: 400, code: 'too_many_endpoints' });
  }
});

test('endpoints are listed newest first, without what single sessions named', async () => {
  const { send } = await newStore();
  const made: string[] = [];
  for (let n = 0; n < 2; n++) {
    api.clock.advance(1000);
    made.push(((await send('POST', PATH, { url: `https://shop.example/${n}` })).json as Created).id);
  }
  await api.follow();
  const order = { amount: 100, currency: 'USD', order_id: 'named', webhook_url: 'https://shop.example/one-off' };
  assert.is((await send('POST', '/api/v1/checkout/sessions/create', order)).status, 200);
  assert.equal(column((await list(send)).data, 'id'), made.toReversed());
});

test('deleting is for an endpoint of this store and mode, once, and is recorded', async () => {
  const { storeId, send } = await newStore();
  const { id } = (await send('POST', PATH, { url: 'https://shop.example/gone' })).json as Created;
  const live = issueEndpoint(storeId, 'live', 'https://shop.example/live', [], api.clock.nowMs());
  const foreign = issueEndpoint(api.merchantId, 'test', 'https://other.example/', [], api.clock.nowMs());
  for (const one of [live, foreign]) await api.database().endpoints.add(one);
  for (const other of [live.id, foreign.id, 'we_none', '%00']) {
    expectError(await send('DELETE', `${PATH}/${other}`), { status: 404, code: 'endpoint_not_found' }, other);
  }
  const answer = await send('DELETE', `${PATH}/${id}`);
  assert.equal([answer.status, answer.json], [200, { object: 'webhook_endpoint', id, deleted: true }]);
  const [entry] = await api.database().audit.list(1);
  assert.equal([entry?.command, entry?.target], ['DELETE /api/v1/webhook_endpoints/{endpoint_id}', id]);
  expectError(await send('DELETE', `${PATH}/${id}`), { status: 404, code: 'endpoint_not_found' });
  assert.equal((await list(send)).data, []);
  assert.is((await api.database().endpoints.list(api.merchantId)).length, 1, 'that of the other store is there');
});

test.run();
