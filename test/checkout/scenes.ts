/** Every state that a payer can meet, and a way into each. */
import type { ApiServer } from '../support/api-server.ts';
import { confirmTip, openSale, paidSale, pass } from '../support/payment-scenes.ts';

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
      const order = { amount: 1999, currency: 'EUR', description: 'A year of hosting', cancel_url: undefined };
      const sale = await openSale(api, order);
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
      const sale = await openSale(api, { currency: 'USDT' });
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
      const sale = await paidSale(api, { success_url: 'https://shop.example/thanks' });
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
