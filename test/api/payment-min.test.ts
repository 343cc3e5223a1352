/** A network with a smallest amount is offered from that amount on; where none is left, the request is at fault. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaymentSession } from '../../src/api/session-view.ts';
import { type ApiServer, network, startApi, token } from '../support/api-server.ts';
import { expectError } from '../support/expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const PAR = 10n ** 18n;
const dear = { ...network('test', 'tron', '1', [token('1', 'USDT', 6)]), paymentMinPar: 5n * PAR };
const cheap = { ...network('test', 'bsc', '2', [token('2', 'USDT', 18)]), paymentMinPar: 2n * PAR };

async function withApi(run: (api: ApiServer, offered: (cents: number) => Promise<string[]>) => Promise<void>) {
  const api = await startApi({ networks: [dear, cheap] });
  const offered = async (amount: number): Promise<string[]> => {
    const answer = await api.send('POST', CREATE, { amount, currency: 'USD', order_id: `of ${amount}` });
    assert.is(answer.status, 200, answer.text);
    return ((answer.json as PaymentSession).payment_options ?? []).map((option) => option.network).sort();
  };
  try {
    await run(api, offered);
  } finally {
    await api.close();
  }
}

test('a network is offered from its smallest amount on', () =>
  withApi(async (_, offered) => {
    assert.equal(await offered(500), ['bsc', 'tron']);
    assert.equal(await offered(499), ['bsc']);
    assert.equal(await offered(200), ['bsc']);
  }));

test('an amount that no network takes is refused, with the smallest one that is', () =>
  withApi(async (api) => {
    const body = { amount: 199, currency: 'USD', order_id: 'small' };
    const refused = await api.send('POST', CREATE, body);
    expectError(refused, { status: 400, code: 'amount_too_small', param: 'amount' });
    assert.match(refused.text, 'bsc takes the least, 2.00 stablecoins');
    // Nothing was kept: a larger amount under the same order is a new session.
    assert.is((await api.send('POST', CREATE, { ...body, amount: 200 })).status, 200);
  }));

test.run();
