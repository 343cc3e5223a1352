/**
 * Walks through every signed call of the reference with its example, as a reader does from top to bottom: ids of the
 * examples become those that an instance has given.
 */
import * as assert from 'uvu/assert';
import { examples } from '../../src/api/examples.ts';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { exampleCall, type Listed, operationsOf } from '../../src/api/reference-page.ts';
import type { SampleCall } from '../../src/api/samples.ts';
import { exampleEventId } from '../../src/api/webhook-events.ts';
import { until } from '../support/until.ts';

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely and assert every field they use
type Json = any;

export type ExampleWorld = Readonly<{
  document: OpenApiDocument;
  /** Makes orders and refunds differ from those of another walk. */
  suffix: string;
  /** Makes the call, and fails unless it is answered as documented. */
  make(operation: Listed, call: SampleCall): Promise<void>;
  /** Reads with a client of its own. */
  read(path: string): Promise<Json>;
  /** Pays a session in full, on an EVM network. */
  pay(sessionId: string): Promise<void>;
}>;

/** Makes every call once. @returns how many there were */
export async function walkExamples(world: ExampleWorld): Promise<number> {
  const { document, suffix, read } = world;
  const operations = operationsOf(document.paths).filter(({ raw }) => raw.security?.length !== 0);
  const left = new Map(operations.map((operation) => [operation.anchor, operation]));
  const orderId = `order-1001-${suffix}`;
  const ids = new Map([
    [examples.sessionBody.order_id, orderId],
    ['order-1002', `order-1002-${suffix}`],
    [examples.refundBody.refund_id, `refund-${suffix}`],
  ]);
  const renamed = (text: string) => [...ids].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  async function make(...anchors: readonly string[]): Promise<void> {
    for (const anchor of anchors) {
      const operation = left.get(anchor);
      assert.ok(operation, `the document has ${anchor}, and it was not called yet`);
      left.delete(anchor);
      const call = exampleCall(operation as Listed);
      const body = call.body === undefined ? undefined : JSON.parse(renamed(JSON.stringify(call.body)));
      await world.make(operation as Listed, { ...call, path: renamed(call.path), body });
    }
  }
  const newest = async (path: string): Promise<Json> => (await read(`${path}limit=1`)).data[0];
  const sessionOf = async (order: string) => (await newest(`/api/v1/checkout/sessions?order_id=${order}&`)).id;

  await make('getAccount', 'createQuote', 'createQuickStartSession');
  ids.set(examples.session.id, await sessionOf(`order-1002-${suffix}`));
  await make('getQuickStartSession', 'cancelSession', 'createSession');
  const sessionId = await sessionOf(orderId);
  ids.set(examples.session.id, sessionId);
  await make('getSession', 'listSessions', ...(left.has('simulate') ? ['simulate'] : []));
  await world.pay(sessionId);
  await make('createRefund', 'getRefund', 'listRefunds', 'setRefundDestination');
  const isProcessing = async () => (await read(`/api/v1/refunds/refund-${suffix}`)).status === 'processing';
  await until('the refund is processing', isProcessing);
  await make('cancelRefund');
  ids.set(exampleEventId, (await newest('/api/v1/events?')).id);
  await make('listEvents', 'getEvent', 'createWebhookEndpoint', 'listWebhookEndpoints');
  ids.set(examples.endpoint.id, (await newest('/api/v1/webhook_endpoints?')).id);
  await make('deleteWebhookEndpoint');
  assert.equal([...left.keys()], [], 'every call was made');
  return operations.length;
}
