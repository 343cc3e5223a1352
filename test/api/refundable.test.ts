/** When a session was paid, and what can still be refunded of it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';

const SESSIONS = '/api/v1/checkout/sessions';
const api = await startApi();
test.after(() => api.close());

type Shown = Readonly<{ id: string; paid_at?: number; refundable?: readonly object[] }>;

const read = async (id: string): Promise<Shown> => (await api.send('GET', `${SESSIONS}/${id}`)).json as Shown;

test('a paid session shows what was received less the refunds that count', async () => {
  const body = { amount: 1000, currency: 'USD', order_id: 'refundable' };
  const { id } = (await api.send('POST', `${SESSIONS}/create`, body)).json as Shown;
  const open = await read(id);
  assert.equal({ paid_at: open.paid_at, refundable: open.refundable }, { paid_at: undefined, refundable: undefined });

  const to = (await api.database().sessions.find(id))?.addresses.evm ?? '';
  const chain = api.chain('ethereum');
  const block = await chain.mine([
    { to, currency: 'USDT', units: 12_345_678n },
    { to, currency: 'USDC', units: 1_000_000n },
  ]);
  api.clock.advance(1000);
  const paidAtS = api.clock.nowS();
  await chain.confirm(block);
  assert.is((await read(id)).paid_at, paidAtS);

  const shows = async (usdt: string) => {
    const expected = [
      { currency: 'USDT', amount: usdt },
      { currency: 'USDC', amount: '1.00' },
    ];
    assert.equal((await read(id)).refundable, expected);
    const { data } = (await api.send('GET', SESSIONS)).json as { data: readonly Shown[] };
    assert.equal(data.find((one) => one.id === id)?.refundable, expected, 'in the list too');
  };
  await shows('12.34');
  for (const [refund_id, amount] of [
    ['r-1', '2.30'],
    ['r-2', '0.04'],
  ]) {
    const refund = { order_id: id, refund_id, amount, currency: 'USDT' };
    assert.is((await api.send('POST', '/api/v1/refunds/create', refund)).status, 201);
  }
  await shows('10.00');
  const found = await api.database().refunds.find({ storeId: api.merchantId, mode: 'test', refundId: 'r-1' });
  assert.is(found.kind, 'found');
  if (found.kind === 'found') await api.database().refunds.reject(found.refund.id, 'no', api.clock.nowMs());
  await shows('12.30');
});

test.run();
