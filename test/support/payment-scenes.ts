/**
 * Sales and what becomes of them, each as in reality: a session by the signed API, money by ingested blocks, and time
 * by the server's clock.
 */
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { invariant } from '../../src/core/fault.ts';
import { parseUnits } from '../../src/core/money.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { StoreDecision } from '../../src/database/stores.ts';
import type { ApiServer } from './api-server.ts';
import type { SignedClient } from './signed-client.ts';

type Network = 'ethereum' | 'bsc';

/** A session for tests. */
export type Sale = Readonly<{
  id: string;
  /** The page's path, as anybody may know it. */
  path: string;
  /** The page's path with the payer's token. */
  payerPath: string;
  /** Puts a transfer to the session's address into the next block. */
  send(amount: string, options?: Readonly<{ network?: Network; currency?: Currency }>): Promise<void>;
}>;

type SaleBody = Readonly<{ amount?: number; [field: string]: unknown }>;

const decimals = { ethereum: 6, bsc: 18 } as const;
const price = (name: string, amount: number, quantity: number) => ({
  price_data: { currency: 'USD', unit_amount: amount, product_data: { name } },
  quantity,
});
const usualItems = {
  line_items: [price('Espresso beans, 250 g', 350, 2), price('Filter papers', 150, 1)],
  tax_amount: 80,
  shipping_amount: 120,
};
let sales = 0;

/**
 * Opens a sale.
 * @param body differs from an order of two line items over 10.50 USD; with an amount, or in a coin, it has no items
 */
export async function openSale(api: ApiServer, body: SaleBody = {}): Promise<Sale> {
  await refreshNetworks(api);
  sales++;
  const answer = await api.send('POST', '/api/v1/checkout/sessions/create', {
    amount: 1050,
    currency: 'USD',
    order_id: `order-${1000 + sales}`,
    ...(!('amount' in body || 'currency' in body) && usualItems),
    cancel_url: 'https://shop.example/cart',
    ...body,
  });
  const created = answer.json as {
    id: string;
    payer_url: string;
    payment_options: { network: string; address: string }[];
  };
  invariant(answer.status === 200, `the sale is opened: ${answer.text}`);
  const to = chains.evm.address.parse(created.payment_options[0]?.address ?? '') ?? '';
  return {
    id: created.id,
    path: `/pay/${created.id}`,
    payerPath: created.payer_url.slice(created.payer_url.indexOf('/pay/')),
    async send(amount, { network = 'ethereum', currency = 'USDT' } = {}) {
      const units = parseUnits(amount, decimals[network]);
      invariant(units !== null, `${amount} is an amount`);
      await api.chain(network).mine([{ to, currency, units }]);
    },
  };
}

/** Reports that both networks are followed. */
async function refreshNetworks(api: ApiServer): Promise<void> {
  for (const name of ['ethereum', 'bsc'] as const) await api.chain(name).report('following');
}

async function tipOf(api: ApiServer, network: Network) {
  const tip = (await api.database().blocks.tail(`test:${network}`, 1)).at(-1);
  invariant(tip, 'there is a newest block');
  return tip;
}

/** Confirms the payments in the newest block. */
export const confirmTip = async (api: ApiServer, network: Network = 'ethereum'): Promise<void> =>
  api.chain(network).confirm(await tipOf(api, network));

/** Calls the newest block of Ethereum final. */
export const finalizeTip = async (api: ApiServer): Promise<void> =>
  api.chain('ethereum').finalize(await tipOf(api, 'ethereum'));

/** Opens a sale that is paid in full, in a block that is confirmed. */
export async function paidSale(api: ApiServer, body: SaleBody = {}): Promise<Sale> {
  const sale = await openSale(api, body);
  await sale.send(((body.amount ?? 1050) / 100).toFixed(2));
  await confirmTip(api);
  return sale;
}

/** Opens a paid sale in a block that is final. */
export async function finalSale(api: ApiServer, body: SaleBody = {}): Promise<Sale> {
  const sale = await paidSale(api, body);
  await finalizeTip(api);
  return sale;
}

// ── Refunds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An address for refunds, and its key. */
export const [refundAddress, refundKey] = ['c0ffee'.padStart(40, '1')].flatMap((key) => [
  chains.evm.address.format(key),
  key,
]) as [string, string];

/** Asks for a refund of 4.50 USDT of a sale, which a claim link is made for. @param more replaces and adds fields */
export const askRefund = (
  { send }: Pick<SignedClient, 'send'>,
  { id: order_id }: Pick<Sale, 'id'>,
  refund_id: string,
  more: object = {},
) => send('POST', '/api/v1/refunds/create', { order_id, refund_id, amount: '4.50', currency: 'USDT', ...more });

/** The field of a refund that names where it goes. */
export const paidTo = (refund_address = refundAddress) => ({ metadata: { refund_address } });

/** Leaves a refund address on the payment page, as the payer does in its second step, or somebody by another path. */
export const leaveAddress = (
  { baseUrl }: Pick<ApiServer, 'baseUrl'>,
  { payerPath }: Pick<Sale, 'payerPath'>,
  address: string,
  confirmed = 'yes',
): Promise<Response> =>
  fetch(baseUrl + payerPath.replace(/(\?|$)/, '/refund-address$1'), {
    method: 'POST',
    body: new URLSearchParams({ address, confirmed }),
    redirect: 'manual',
  });

/** Returns a refund as the database has it, by its merchant's id. */
export async function findRefund(api: ApiServer, refundId: string) {
  const found = (await api.database().refunds.list({ limit: 100 })).find((one) => one.refundId === refundId);
  assert.ok(found);
  return found;
}

/** Starts the refunds that may start. */
export const advanceRefunds = (api: ApiServer) => api.database().refunds.advance(api.clock.nowMs(), 100);

/**
 * Asks for the first attempt of a refund's payout, as the engine does once it is due.
 * @param more replaces what the engine asks
 * @returns what became of it, the code of what it waits for, and whom it pays
 */
export async function allotRefund(api: ApiServer, refundId: string, more: object = {}) {
  const { payouts } = api.database();
  const { id } = await findRefund(api, refundId);
  const payout = await payouts.find(id);
  assert.ok(payout);
  const name = { id, generation: 0, attempt: 0, intent: payout.intent } as const;
  const wish = { payer: 'ab'.repeat(20), payerRole: 'refund', nonce: null, terms: {}, feeUnitsMax: 1n } as const;
  const { kind } = await payouts.allot({ ...name, ...wish, nowMs: api.clock.nowMs(), ...more });
  const { wait, intent } = (await payouts.find(id)) ?? payout;
  return { kind, waitsFor: wait?.code, to: intent.kind === 'refund' ? intent.to : '' };
}

/** Suspends the store, or approves it again, as its operator does. */
export function decideStore(api: ApiServer, to: StoreDecision): Promise<unknown> {
  const act = { atMs: api.clock.nowMs(), operator: 'alice', command: `store ${to}`, reason: 'its key leaked' };
  return api.database().stores.decide(api.merchantId, to, act);
}

/** Lets time pass, on every network too, and ends what is due. */
export async function pass(api: ApiServer, seconds: number): Promise<void> {
  api.clock.advance(seconds * 1000);
  for (const name of ['ethereum', 'bsc'] as const) await api.chain(name).mine();
  await api.database().sessions.settleDue(api.clock.nowMs(), 100);
  await refreshNetworks(api);
}
