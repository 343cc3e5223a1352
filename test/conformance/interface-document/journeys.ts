/**
 * Orders that are paid, expire, fail or are canceled, and refunds that succeed, fail or are canceled. Each happens
 * once, and rows look at what was seen on the way. The sandbox plays the payer, and the operator decides where the
 * document says that the system does.
 */
import { randomUUID } from 'node:crypto';
import type { Json } from './installation.ts';
import { accepted, type Hook, type Merchant, type Shop, watch } from './shop.ts';

export const SESSIONS = '/api/v1/checkout/sessions';
export const REFUNDS = '/api/v1/refunds';

export const networks = ['tron', 'ethereum', 'bsc', 'solana'] as const;
export const coins = ['USDT', 'USDC'] as const;
export type Network = (typeof networks)[number];
export type Coin = (typeof coins)[number];

/** A call that nobody signed. */
export const unsigned = { headers: { 'X-Service-Signature': '0'.repeat(64) } };

/** Creates a session; what is not given is an order of 10.50 USD. */
export const create = async (shop: Shop, fields: object = {}, merchant: Merchant = shop): Promise<Json> =>
  accepted(await merchant.call('POST', `${SESSIONS}/create`, order(shop, fields)));

/** Creates a session that offers this network: on a busy machine one may be behind for a moment. */
async function createOn(shop: Shop, network: Network, fields: object = {}, merchant: Merchant = shop): Promise<Json> {
  for (;;) {
    const created = await create(shop, fields, merchant);
    if (created.payment_options.some((option: Json) => option.network === network)) return created;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const PAUSE_MS = 1000;

export const order = (shop: Shop, fields: object = {}): Json => ({
  amount: 1050,
  currency: 'USD',
  order_id: shop.orderId(),
  ...fields,
});

export const readSession = async (merchant: Merchant, id: string): Promise<Json> =>
  accepted(await merchant.call('GET', `${SESSIONS}/${id}`));

/** Lets the sandbox do something on a session's network, and returns the hashes of what it sent. */
export const simulate = async (
  merchant: Merchant,
  id: string,
  action: string,
  at: Readonly<{ network?: Network; currency?: Coin }> = {},
): Promise<readonly string[]> =>
  accepted(await merchant.call('POST', `/api/v1/test/sessions/${id}/simulate`, { action, ...at })).transaction_hashes;

/** Where the endpoints of the demo store and of the other store are. */
const ENDPOINTS = ['/shop', '/other'];

const eventOf =
  (id: string, type: string) =>
  ({ path, event }: Hook): boolean =>
    ENDPOINTS.includes(path) && event.type === type && event.data.object.session_id === id;

/** Waits until the shop's endpoint has an event of a session. */
export const eventFor = (shop: Shop, id: string, type: string): Promise<Hook> =>
  shop.receiver.first(`${type} of ${id}`, eventOf(id, type));

export type Paid = Readonly<{ created: Json; paid: Json; hook: Hook }>;

/** An order of 10.50 USD that is paid in one coin on one network. */
export const paidIn = (shop: Shop, network: Network, currency: Coin): Promise<Paid> =>
  shop.once(`paid in ${currency} on ${network}`, () => pay(shop, { network, currency }));

/** Creates and pays an order of its own. */
export async function pay(
  shop: Shop,
  at: Readonly<{ network: Network; currency: Coin }>,
  fields: object = {},
): Promise<Paid> {
  const created = await createOn(shop, at.network, fields);
  await simulate(shop, created.id, 'pay_exact', at);
  const hook = await eventFor(shop, created.id, 'payment.completed');
  return { created, paid: await readSession(shop, created.id), hook };
}

/** Pays an order of another merchant. */
export async function payOf(shop: Shop, merchant: Merchant, fields: object = {}): Promise<Json> {
  const { id } = await createOn(shop, 'bsc', fields, merchant);
  await simulate(merchant, id, 'pay_exact', { network: 'bsc', currency: 'USDT' });
  return watch(merchant, `${SESSIONS}/${id}`, ({ payment_status }) => payment_status === 'paid');
}

/** An order that runs out of its minute. */
export const expired = (shop: Shop) =>
  shop.once('expired', async () => {
    const created = await create(shop, { expires_in: 60 });
    const hook = await eventFor(shop, created.id, 'payment.expired');
    return { created, expired: await readSession(shop, created.id), hook };
  });

/** An order of which half was paid when its time was over. */
export const failed = (shop: Shop) =>
  shop.once('failed', async () => {
    const created = await createOn(shop, 'bsc');
    await simulate(shop, created.id, 'pay_under', { network: 'bsc', currency: 'USDT' });
    await watch(shop, `${SESSIONS}/${created.id}`, ({ payments }) => payments.length > 0);
    await simulate(shop, created.id, 'expire');
    const hook = await eventFor(shop, created.id, 'payment.failed');
    return { created, failed: await readSession(shop, created.id), hook };
  });

export const canceled = (shop: Shop) =>
  shop.once('canceled', async () => {
    const created = await create(shop);
    const answer = accepted(await shop.call('POST', `${SESSIONS}/${created.id}/cancel`));
    const hook = await eventFor(shop, created.id, 'payment.cancelled');
    return { created, answer, canceled: await readSession(shop, created.id), hook };
  });

/** An order of 10.00 EUR, paid. */
export const converted = (shop: Shop) =>
  shop.once('converted', () => pay(shop, { network: 'bsc', currency: 'USDT' }, { amount: 1000, currency: 'EUR' }));

/** Fills every documented field of the create call. */
export const full = (shop: Shop) =>
  shop.once('full order', async () => {
    const item = (name: string, unit_amount: number, more: object = {}) => ({
      price_data: { currency: 'USD', unit_amount, product_data: { name, description: `${name} from the valley` } },
      ...more,
    });
    const body = order(shop, {
      amount: 2 * 400 + 150 + 90 + 10,
      description: 'Two coffees and a cake – süß',
      line_items: [item('Coffee', 400, { quantity: 2 }), item('Cake', 150)],
      tax_amount: 90,
      shipping_amount: 10,
      success_url: 'https://shop.example/thanks',
      cancel_url: 'https://shop.example/basket',
      metadata: { cart: 'c-77', locale: 'de' },
      expires_in: 600,
    });
    const created = await create(shop, body);
    return { body, created };
  });

// ── Refunds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the body of a refund with every documented field and no other. */
export const refundBody = (session: string, currency: Coin, amount = '4.50'): Json => ({
  order_id: session,
  refund_id: `refund-${randomUUID()}`,
  amount,
  currency,
  reason: 'requested_by_customer',
  description: 'One coffee was cold',
  metadata: { ticket: 4711, note: 'cold' },
});

export const askRefund = async (merchant: Merchant, body: object): Promise<Json> =>
  accepted(await merchant.call('POST', `${REFUNDS}/create`, body), 201);

export const watchRefund = (merchant: Merchant, refundId: string, ...statuses: readonly string[]): Promise<Json> =>
  watch(merchant, `${REFUNDS}/${refundId}`, ({ status }) => statuses.includes(status));

const refundEvent = (shop: Shop, refundId: string, type: string): Promise<Hook> =>
  shop.receiver.first(
    `${type} of ${refundId}`,
    ({ path, event }) => ENDPOINTS.includes(path) && event.type === type && event.data.object.refund_id === refundId,
  );

export type Refunded = Readonly<{
  session: Json;
  body: Json;
  created: Json;
  processing: Json;
  completed: Json;
  hook: Hook;
}>;

/** A refund of part of the order that was paid in this coin on this network. */
export const refundedIn = (shop: Shop, network: Network, currency: Coin): Promise<Refunded> =>
  shop.once(`refunded in ${currency} on ${network}`, async () => {
    const { paid: session } = await paidIn(shop, network, currency);
    return refund(shop, session, refundBody(session.id, currency));
  });

export async function refund(shop: Shop, session: Json, body: Json): Promise<Refunded> {
  const created = await askRefund(shop, body);
  const processing = await watchRefund(shop, body.refund_id, 'processing', 'completed', 'failed');
  const hook = await refundEvent(shop, body.refund_id, 'refund.succeeded');
  const completed = await watchRefund(shop, body.refund_id, 'completed', 'failed');
  return { session, body, created, processing, completed, hook };
}

/** An order of which half is refunded, and then the other half. */
export const refundedTwice = (shop: Shop) =>
  shop.once('refunded in two parts', async () => {
    const { paid: session } = await pay(shop, { network: 'tron', currency: 'USDT' });
    const parts = await Promise.all([
      refund(shop, session, refundBody(session.id, 'USDT', '5.25')),
      refund(shop, session, refundBody(session.id, 'USDT', '5.25')),
    ]);
    return { session, parts };
  });

/** A refund that its merchant cancels while it is processing. */
export const refundCanceled = (shop: Shop) =>
  shop.once('refund canceled', async () => {
    const { paid: session } = await pay(shop, { network: 'bsc', currency: 'USDC' });
    const body = refundBody(session.id, 'USDC');
    await askRefund(shop, body);
    const processing = await watchRefund(shop, body.refund_id, 'processing');
    const answer = accepted(await shop.call('POST', `${REFUNDS}/${body.refund_id}/cancel`));
    return { session, body, processing, answer, canceled: await watchRefund(shop, body.refund_id, 'canceled') };
  });

/**
 * A refund of the other merchant that is above the limit for refunds without approval, and pending. That limit is over
 * all that one key asks for in a day, so it is asked after those that are to go on by themselves.
 */
export const refundPending = (shop: Shop) =>
  shop.once('refund pending', async () => {
    const { merchant } = await refundsRejected(shop);
    const session = await payOf(shop, merchant, { amount: 300_000 });
    const body = refundBody(session.id, 'USDT', '1500.00');
    const created = await askRefund(merchant, body);
    return { merchant, session, body, created };
  });

/** Refunds of the other merchant that the operator rejects: one while it is pending, one while it is processing. */
export const refundsRejected = (shop: Shop) =>
  shop.once('refunds rejected', async () => {
    const { merchant } = await otherMerchant(shop);
    const session = await payOf(shop, merchant, { amount: 300_000 });
    const ask = async (amount: string, status: string) => {
      const body = refundBody(session.id, 'USDT', amount);
      await askRefund(merchant, body);
      return { body, before: await watchRefund(merchant, body.refund_id, status) };
    };
    const small = await ask('4.50', 'processing');
    const asked = [await ask('1500.00', 'pending'), small];
    const listed: readonly Json[] = await shop.installation.tool('refund', 'list');
    const [pending, processing] = await Promise.all(
      asked.map(async (one) => {
        const { id } = listed.find(({ refund_id }) => refund_id === one.body.refund_id);
        await shop.installation.tool('refund', 'reject', id, '--reason', 'a test');
        const hook = await refundEvent(shop, one.body.refund_id, 'refund.failed');
        return { ...one, hook, failed: await watchRefund(merchant, one.body.refund_id, 'failed') };
      }),
    );
    return { session, merchant, pending: pending as Rejected, processing: processing as Rejected };
  });

type Rejected = Readonly<{ body: Json; before: Json; failed: Json; hook: Hook }>;

// ── Others ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Another merchant on the same installation, whose refunds can be canceled for ten minutes. */
export const otherMerchant = (shop: Shop) =>
  shop.once('another merchant', async () => {
    const { tool } = shop.installation;
    const store = await tool('store', 'add', 'Another shop');
    const [key] = await Promise.all([
      tool('key', 'create', '--store', store.id, '--mode', 'test'),
      tool('store', 'set', store.id, '--refund-cancel-window=600', '--refund-to-sender=yes'),
      tool('webhook', 'add', shop.receiver.url('/other'), '--store', store.id, '--mode', 'test'),
    ]);
    const merchant = shop.merchant({ merchantId: store.id, apiKey: key.api_key, apiSecret: key.api_secret });
    return { store, key, merchant };
  });

/** A refund of the other merchant after the operator has closed the refund window for good. */
export const refundTooLate = (shop: Shop) =>
  shop.once('refund after the window', async () => {
    const { merchant } = await otherMerchant(shop);
    // Those refunds come first, while the window is open.
    const { session } = await refundPending(shop);
    await shop.installation.tool('store', 'set', merchant.merchantId, '--refund-window=0');
    return merchant.call('POST', `${REFUNDS}/create`, refundBody(session.id, 'USDT'));
  });

/** A key of the demo store for real money. */
export const liveMerchant = (shop: Shop) =>
  shop.once('a live key', async () => {
    const words = ['key', 'create', '--store', shop.merchantId, '--mode', 'live', '--scopes', 'sessions:read'];
    const key = await shop.installation.tool(...words);
    return shop.merchant({ merchantId: shop.merchantId, apiKey: key.api_key, apiSecret: key.api_secret });
  });
