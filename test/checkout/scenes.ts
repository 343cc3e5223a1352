/** Every state that a payer can meet, and a way into each. */
import type { ApiServer } from '../support/api-server.ts';
import { confirmTip, openSale, pass, type Sale } from '../support/payment-scenes.ts';

const PAST_EXPIRY_S = 1801;
const PAST_GRACE_S = 1801;

/**
 * A way into a state.
 * @returns the path to open
 */
type Scene = Readonly<{ headline: RegExp; play(api: ApiServer): Promise<string> }>;

type Way = Readonly<{
  /** Of the sale, if it is not the usual one. */
  body?: Parameters<typeof openSale>[1];
  /** Done after it was opened. */
  act?(api: ApiServer, sale: Sale): unknown;
  /** Of the path to open. */
  query?: string;
}>;

const scene = (headline: RegExp, { body, act, query = '' }: Way = {}): Scene => ({
  headline,
  async play(api) {
    const sale = await openSale(api, body);
    await act?.(api, sale);
    return sale.path + query;
  },
});
const loseBsc = (api: ApiServer) => api.chain('bsc').report('fault');

export const scenes: Readonly<Record<string, Scene>> = {
  choose: scene(/How do you want to pay/),
  choose_second_token: scene(/How do you want to pay/, {
    body: { amount: 1999, currency: 'EUR', description: 'A year of hosting', cancel_url: undefined },
    query: '?token=USDC',
  }),
  waiting: scene(/Send 10\.50 USDT/, { query: '?pay=ethereum-USDT' }),
  wallet_code: scene(/Send 10\.50 USDC/, { query: '?pay=bsc-USDC&qr=wallet' }),
  network_down: scene(/BNB Smart Chain \(BEP20\) is not available/, { act: loseBsc, query: '?pay=bsc-USDT' }),
  choose_one_down: scene(/How do you want to pay/, { act: loseBsc }),
  networks_down: scene(/No network is available/, { act: ({ clock }) => clock.advance(31_000) }),
  underpaid: scene(/6\.25 USDT still due/, { act: (_, sale) => sale.send('4.25') }),
  wrong_token: scene(/That was not USDT/, {
    body: { currency: 'USDT' },
    act: (_, sale) => sale.send('10.50', { currency: 'USDC' }),
  }),
  seen: scene(/Payment seen/, {
    async act(api, sale) {
      await sale.send('10.50');
      await api.chain('ethereum').mine();
      await api.chain('ethereum').mine();
    },
  }),
  undone: scene(/Send 10\.50 USDT/, {
    async act(api, sale) {
      await sale.send('10.50');
      await api.chain('ethereum').orphanTip();
    },
    query: '?pay=ethereum-USDT',
  }),
  paid: scene(/^Paid$/, {
    body: { success_url: 'https://shop.example/thanks' },
    async act(api, sale) {
      await sale.send('10.50');
      await confirmTip(api);
    },
    query: '?stay=1',
  }),
  overpaid: scene(/^Paid$/, {
    async act(api, sale) {
      for (const amount of ['10', '2.75']) {
        await sale.send(amount, { network: 'bsc', currency: 'USDC' });
        await confirmTip(api, 'bsc');
      }
    },
  }),
  checking: scene(/Time is up/, { act: ({ clock }) => clock.advance(PAST_EXPIRY_S * 1000) }),
  expired: scene(/has expired/, { act: (api) => pass(api, PAST_EXPIRY_S) }),
  late: scene(/arrived too late/, {
    async act(api, sale) {
      await pass(api, PAST_EXPIRY_S);
      await sale.send('10.50');
    },
  }),
  canceled: scene(/was canceled/, {
    act: (api, { id }) => api.send('POST', `/api/v1/checkout/sessions/${id}/cancel`),
  }),
  failed: scene(/was not completed/, {
    async act(api, sale) {
      await sale.send('4.25');
      await pass(api, PAST_EXPIRY_S + PAST_GRACE_S);
    },
  }),
  not_found: { headline: /This payment does not exist/, play: async () => '/pay/cs_00000000000000000000000000' },
};
