/**
 * Every state that a payer can meet, each reached as in reality: a session by the signed API, money by ingested blocks,
 * time by the server's clock.
 */
import { chains } from '../../src/chains/index.ts';
import { invariant } from '../../src/core/fault.ts';
import { parseUnits } from '../../src/core/money.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { ApiServer } from './api-server.ts';

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

const decimals = { ethereum: 6, bsc: 18 } as const;
let sales = 0;

/**
 * Opens a sale.
 * @param body what differs from an order of two line items over 10.50 USD
 */
export async function openSale(api: ApiServer, body: object = {}): Promise<Sale> {
  await refreshNetworks(api);
  sales++;
  const price = (name: string, amount: number, quantity: number) => ({
    price_data: { currency: 'USD', unit_amount: amount, product_data: { name } },
    quantity,
  });
  const answer = await api.send('POST', '/api/v1/checkout/sessions/create', {
    amount: 1050,
    currency: 'USD',
    order_id: `order-${1000 + sales}`,
    line_items: [price('Espresso beans, 250 g', 350, 2), price('Filter papers', 150, 1)],
    tax_amount: 80,
    shipping_amount: 120,
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

/** Confirms the payments in the newest block. */
export async function confirmTip(api: ApiServer, network: Network = 'ethereum'): Promise<void> {
  const tip = (await api.database().blocks.tail(`test:${network}`, 1)).at(-1);
  invariant(tip, 'there is a newest block');
  await api.chain(network).confirm(tip);
}

/** Opens a sale that is paid in full, in a block that is confirmed. */
export async function paidSale(api: ApiServer): Promise<Sale> {
  const sale = await openSale(api);
  await sale.send('10.50');
  await confirmTip(api);
  return sale;
}

/** Calls the newest block of Ethereum final. */
export async function finalizeTip(api: ApiServer): Promise<void> {
  const tip = (await api.database().blocks.tail('test:ethereum', 1)).at(-1);
  invariant(tip, 'there is a newest block');
  await api.chain('ethereum').finalize(tip);
}

/** Lets time pass, on every network too, and ends what is due. */
export async function pass(api: ApiServer, seconds: number): Promise<void> {
  api.clock.advance(seconds * 1000);
  for (const name of ['ethereum', 'bsc'] as const) await api.chain(name).mine();
  await api.database().sessions.settleDue(api.clock.nowMs(), 100);
  await refreshNetworks(api);
}

const PAST_EXPIRY_S = 1801;
const PAST_GRACE_S = 1801;

/**
 * A way into a state.
 * @returns the path to open
 */
type Scene = Readonly<{ headline: RegExp; play(api: ApiServer): Promise<string> }>;

export const scenes: Readonly<Record<string, Scene>> = {
  choose: {
    headline: /How do you want to pay/,
    play: async (api) => (await openSale(api)).path,
  },
  choose_second_token: {
    headline: /How do you want to pay/,
    async play(api) {
      const sale = await openSale(api, {
        amount: 1999,
        currency: 'EUR',
        line_items: undefined,
        tax_amount: undefined,
        shipping_amount: undefined,
        description: 'A year of hosting',
        cancel_url: undefined,
      });
      return `${sale.path}?token=USDC`;
    },
  },
  waiting: {
    headline: /Send 10\.50 USDT/,
    play: async (api) => `${(await openSale(api)).path}?pay=ethereum-USDT`,
  },
  wallet_code: {
    headline: /Send 10\.50 USDC/,
    play: async (api) => `${(await openSale(api)).path}?pay=bsc-USDC&qr=wallet`,
  },
  network_down: {
    headline: /BNB Smart Chain \(BEP20\) is not available/,
    async play(api) {
      const sale = await openSale(api);
      await api.chain('bsc').report('fault');
      return `${sale.path}?pay=bsc-USDT`;
    },
  },
  choose_one_down: {
    headline: /How do you want to pay/,
    async play(api) {
      const sale = await openSale(api);
      await api.chain('bsc').report('fault');
      return sale.path;
    },
  },
  networks_down: {
    headline: /No network is available/,
    async play(api) {
      const sale = await openSale(api);
      api.clock.advance(31_000);
      return sale.path;
    },
  },
  underpaid: {
    headline: /6\.25 USDT still due/,
    async play(api) {
      const sale = await openSale(api);
      await sale.send('4.25');
      return sale.path;
    },
  },
  wrong_token: {
    headline: /That was not USDT/,
    async play(api) {
      const sale = await openSale(api, {
        amount: 1050,
        currency: 'USDT',
        line_items: undefined,
        tax_amount: undefined,
        shipping_amount: undefined,
      });
      await sale.send('10.50', { currency: 'USDC' });
      return sale.path;
    },
  },
  seen: {
    headline: /Payment seen/,
    async play(api) {
      const sale = await openSale(api);
      await sale.send('10.50');
      await api.chain('ethereum').mine();
      await api.chain('ethereum').mine();
      return sale.path;
    },
  },
  undone: {
    headline: /Send 10\.50 USDT/,
    async play(api) {
      const sale = await openSale(api);
      await sale.send('10.50');
      await api.chain('ethereum').orphanTip();
      return `${sale.path}?pay=ethereum-USDT`;
    },
  },
  paid: {
    headline: /^Paid$/,
    async play(api) {
      const sale = await openSale(api, { success_url: 'https://shop.example/thanks' });
      await sale.send('10.50');
      await confirmTip(api);
      return `${sale.path}?stay=1`;
    },
  },
  overpaid: {
    headline: /^Paid$/,
    async play(api) {
      const sale = await openSale(api);
      await sale.send('10', { network: 'bsc', currency: 'USDC' });
      await confirmTip(api, 'bsc');
      await sale.send('2.75', { network: 'bsc', currency: 'USDC' });
      await confirmTip(api, 'bsc');
      return sale.path;
    },
  },
  checking: {
    headline: /Time is up/,
    async play(api) {
      const sale = await openSale(api);
      api.clock.advance(PAST_EXPIRY_S * 1000);
      return sale.path;
    },
  },
  expired: {
    headline: /has expired/,
    async play(api) {
      const sale = await openSale(api);
      await pass(api, PAST_EXPIRY_S);
      return sale.path;
    },
  },
  late: {
    headline: /arrived too late/,
    async play(api) {
      const sale = await openSale(api);
      await pass(api, PAST_EXPIRY_S);
      await sale.send('10.50');
      return sale.path;
    },
  },
  canceled: {
    headline: /was canceled/,
    async play(api) {
      const sale = await openSale(api);
      await api.send('POST', `/api/v1/checkout/sessions/${sale.id}/cancel`);
      return sale.path;
    },
  },
  failed: {
    headline: /was not completed/,
    async play(api) {
      const sale = await openSale(api);
      await sale.send('4.25');
      await pass(api, PAST_EXPIRY_S + PAST_GRACE_S);
      return sale.path;
    },
  },
  not_found: {
    headline: /This payment does not exist/,
    play: async () => '/pay/cs_00000000000000000000000000',
  },
};
