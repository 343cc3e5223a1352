/**
 * A running instance, a merchant's server, and the merchant: creates sessions by signed calls, watches them, and checks
 * the webhooks that arrive.
 */
import * as assert from 'uvu/assert';
import { type Instance, type Json, startInstance } from './instance.ts';
import { type MerchantServer, startMerchantServer } from './merchant-server.ts';
import { signature } from './signed-client.ts';
import { until } from './until.ts';

/**
 * Opens the shop.
 * @param merchant where the instance sends webhooks, at the path `/hook`
 */
function openFlowShop(quayside: Instance, merchant: MerchantServer) {
  let orders = 0;

  async function show(session: Json): Promise<Json> {
    const { status, body } = await quayside.api('GET', `/api/v1/checkout/sessions/${session.id}`);
    assert.is(status, 200, JSON.stringify(body));
    return body;
  }

  const waitFor = (what: string, session: Json, holds: (now: Json) => boolean) =>
    until(`session ${session.id} ${what}`, async () => holds(await show(session)));

  /** Returns the webhooks of one type that were received for a session. */
  const events = (session: Json, type: string): readonly Json[] =>
    merchant
      .on('/hook')
      .map(({ body }) => JSON.parse(body))
      .filter((event) => event.data.object.session_id === session.id && event.type === type);

  return {
    /** Creates a session over this many cents; in USD unless a currency is given. */
    async newSession(amount: number, more: Readonly<Record<string, unknown>> = {}): Promise<Json> {
      orders += 1;
      const request = { amount, currency: 'USD', order_id: `order-${orders}`, ...more };
      const { status, body } = await quayside.api('POST', '/api/v1/checkout/sessions/create', request);
      assert.is(status, 200, JSON.stringify(body));
      return body;
    },
    show,
    waitFor,
    waitForStatus: (session: Json, status: string) =>
      waitFor(`is ${status}`, session, (now) => now.payment_status === status),
    waitForSeen: (session: Json, payments = 1) =>
      waitFor(`shows ${payments} payment(s)`, session, (now) => now.payments.length === payments),
    events,
    /**
     * Returns the object of the one `payment.completed` of a session, after checking its signature by the documented
     * rule alone.
     */
    async completed(session: Json): Promise<Json> {
      await until(`session ${session.id} is announced`, () => events(session, 'payment.completed').length > 0);
      const [sent, ...others] = merchant
        .on('/hook')
        .filter(
          ({ body, headers }) => headers['x-service-event-type'] === 'payment.completed' && body.includes(session.id),
        );
      assert.is(others.length, 0, 'announced once');
      const { headers, body } = sent as NonNullable<typeof sent>;
      const [timestamp, nonce] = [String(headers['x-service-timestamp']), String(headers['x-service-nonce'])];
      assert.is(headers['x-service-signature'], signature(quayside.webhookSecret, timestamp, nonce, body));
      assert.is(headers['x-service-event-id'], JSON.parse(body).id);
      return JSON.parse(body).data.object;
    },
    /** Returns a network as `quayside status` shows it. */
    async statusOf(network: string): Promise<Json> {
      const { networks } = await quayside.cli('status');
      return networks.find((one: Json) => one.network === network);
    },
  };
}

export type FlowShop = ReturnType<typeof openFlowShop>;
export type FlowInstallation = Awaited<ReturnType<typeof openFlowInstallation>>;

/** @param settings the operator's file; see `startInstance` */
export async function openFlowInstallation(settings: Readonly<Record<string, unknown>>) {
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const quayside = await startInstance(settings, `${merchant.origin}/hook`);
  return {
    quayside,
    shop: openFlowShop(quayside, merchant),
    async close() {
      await quayside.close();
      await merchant.close();
    },
  };
}
