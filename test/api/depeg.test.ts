import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import type { RateSource } from '../../src/rates/source.ts';
import { staticRates } from '../../src/rates/static.ts';
import { network, startApi, token } from '../support/api-server.ts';
import { expectError } from '../support/expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
/** A coin of which a dollar buys 1.05 is worth 95 cents. */
const depegged = { EUR: '1.13', USD: '1.05' };

const depeg = suite('a coin that lost its peg');

depeg('a coin worth less than the bound is not offered in other currencies, and may still be priced in', async () => {
  const api = await startApi({ rateSource: staticRates(depegged) });
  try {
    for (const currency of ['USD', 'EUR']) {
      const refused = await api.send('POST', CREATE, { amount: 1000, currency, order_id: `off-${currency}` });
      expectError(refused, { status: 503, code: 'no_payment_option', param: null }, currency);
      assert.is(refused.headers['retry-after'], '30');
    }
    for (const currency of ['USDT', 'USDC']) {
      const answer = await api.send('POST', CREATE, { amount: 1000, currency, order_id: `own-${currency}` });
      assert.is(answer.status, 200, answer.text);
      const { payment_options = [] } = answer.json as PaymentSession;
      assert.equal([...new Set(payment_options.map((option) => option.currency))], [currency]);
    }
  } finally {
    await api.close();
  }
});

depeg('while only the settlement currency is off, another coin is offered, at its own rate', async () => {
  const usdtOff: RateSource = {
    ...staticRates({ EUR: '1.08' }),
    fetch: async () => ({
      quotes: new Map([
        ['USD/USDT', { num: 125n, den: 100n }],
        ['USD/USDC', { num: 1n, den: 1n }],
        ['EUR/USDT', { num: 135n, den: 100n }],
        ['EUR/USDC', { num: 108n, den: 100n }],
      ]),
      asOfMs: null,
    }),
  };
  const api = await startApi({ rateSource: usdtOff });
  try {
    const answer = await api.send('POST', CREATE, { amount: 1000, currency: 'EUR', order_id: 'other coin' });
    assert.is(answer.status, 200, answer.text);
    const { target_currency, exchange_rate, payment_options = [] } = answer.json as PaymentSession;
    assert.equal([target_currency, exchange_rate], ['USDC', '1.08000']);
    assert.equal(
      payment_options.map(({ currency, amount }) => [currency, amount]),
      [
        ['USDC', '10.80'],
        ['USDC', '10.80'],
      ],
    );
  } finally {
    await api.close();
  }
});

depeg('without any price of the coins, dollars are taken at par', async () => {
  const api = await startApi({ rateSource: staticRates({ EUR: '1.08' }) });
  try {
    const answer = await api.send('POST', CREATE, { amount: 1000, currency: 'USD', order_id: 'par' });
    assert.is(answer.status, 200, answer.text);
    assert.is((answer.json as PaymentSession).payment_options?.length, 4);
  } finally {
    await api.close();
  }
});

depeg('a currency that no enabled network takes is still unsupported', async () => {
  const networks = [network('test', 'ethereum', '8401', [token('1', 'USDT', 6)])];
  const api = await startApi({ rateSource: staticRates(depegged), networks });
  try {
    const refused = await api.send('POST', CREATE, { amount: 1000, currency: 'USDC', order_id: 'none' });
    expectError(refused, { status: 400, code: 'unsupported_currency', param: 'currency' });
  } finally {
    await api.close();
  }
});

depeg.run();
