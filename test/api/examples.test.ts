/** Every request example of the OpenAPI document is accepted, and is answered with what the document says. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { apiEndpoints } from '../../src/api/app.ts';
import { examples } from '../../src/api/examples.ts';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { operationsOf } from '../../src/api/reference-page.ts';
import { startApi } from '../support/api-server.ts';
import { until } from '../support/until.ts';

const api = await startApi({ simulate: async () => [`0x${'5e'.repeat(32)}`] });
test.after(() => api.close());

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: the test reads answers freely and asserts every field it uses
type Json = any;

const read = async (path: string): Promise<Json> => (await api.send('GET', path)).json;
const newest = async (path: string): Promise<Json> => (await read(`${path}limit=1`)).data[0];
const sessionOf = async (order: string) => (await newest(`/api/v1/checkout/sessions?order_id=${order}&`)).id;

async function pay(id: string): Promise<void> {
  const session = await api.database().sessions.find(id);
  const option = session?.options.find(({ network, currency }) => network === 'ethereum' && currency === 'USDT');
  assert.ok(session && option);
  const chain = api.chain('ethereum');
  const { currency, units } = option;
  await chain.confirm(await chain.mine([{ to: session.addresses.evm ?? '', currency, units }]));
}

async function isRefundProcessing(): Promise<boolean> {
  await api.database().refunds.advance(api.clock.nowMs(), 10);
  return (await read(`/api/v1/refunds/${examples.refund.refund_id}`)).status === 'processing';
}

test('every request example is answered as the document says', async () => {
  // Only the schemas of the endpoints are used.
  const deps = { clock: api.clock, simulate: async () => [] };
  const endpoints = apiEndpoints(deps as unknown as Parameters<typeof apiEndpoints>[0]);
  const { paths } = (await read('/openapi.json')) as OpenApiDocument;
  const left = new Map(operationsOf(paths).map((operation) => [operation.anchor, operation]));
  // Ids of the examples become those that the server has given.
  const ids = new Map([['{refund_id}', examples.refund.refund_id]]);
  const withIds = (text: string) => [...ids].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  async function make(...anchors: readonly string[]): Promise<void> {
    for (const anchor of anchors) {
      const operation = left.get(anchor);
      assert.ok(operation, `the document has ${anchor}, and it was not called yet`);
      left.delete(anchor);
      const { method, path, raw } = operation;
      const [sent] = Object.values(raw.requestBody?.content['application/json'].examples ?? {});
      const body = sent && JSON.parse(withIds(JSON.stringify(sent.value)));
      const answer = await api.send(method.toUpperCase(), withIds(path), body);
      const endpoint = endpoints.find(({ operationId }) => operationId === anchor);
      assert.is(answer.status, endpoint?.status ?? 200, `${anchor}: ${answer.text}`);
      const parsed = endpoint?.answer[0].safeParse(answer.json);
      assert.ok(parsed?.success, `${anchor}: ${answer.text} ${parsed?.error}`);
      assert.equal(parsed?.data, answer.json, `${anchor} answers no more than what is documented`);
    }
  }

  await make('getAccount', 'createQuote', 'createQuickStartSession');
  ids.set('{session_id}', await sessionOf(examples.quickStartBody.order_id));
  await make('getQuickStartSession', 'cancelSession', 'createSession');
  const sessionId = await sessionOf(examples.sessionBody.order_id);
  ids.set('{session_id}', sessionId).set(examples.session.id, sessionId);
  await make('getSession', 'listSessions', 'simulate');
  await pay(sessionId);
  await make('createRefund', 'getRefund', 'listRefunds', 'setRefundDestination');
  await until('the refund is processing', isRefundProcessing);
  await make('cancelRefund');
  ids.set('{event_id}', (await newest('/api/v1/events?')).id);
  await make('listEvents', 'getEvent', 'createWebhookEndpoint', 'listWebhookEndpoints');
  ids.set('{endpoint_id}', (await read('/api/v1/webhook_endpoints')).data[0].id);
  await make('deleteWebhookEndpoint');
  assert.equal([...left.keys()], [], 'every call was made');
});

test.run();
