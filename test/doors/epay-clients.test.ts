import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as epay from '../../src/doors/epay/codec.ts';
import { isDoorFault } from '../../src/doors/faults.ts';
import { addQuery, readFields } from '../../src/doors/signed.ts';
import { answerOf, type EpayClient, epayClients, signedBy } from './epay-clients.ts';
import { paidDoorOrder } from './paid-order.ts';

const KEY = 'Qs7kEpayTestKey0000000000000001';

/** Returns what a door reads from a client's request. */
function read({ sends, signs }: EpayClient, changes: Readonly<Record<string, string>> = {}, key = KEY) {
  const sign = signedBy(Object.entries(sends), signs, key);
  const fields = readFields(new URLSearchParams({ ...sends, sign, sign_type: 'MD5', ...changes }).toString());
  assert.not(isDoorFault(fields));
  return isDoorFault(fields) ? fields : epay.readOrder(fields, { key: KEY, currency: 'CNY' });
}

for (const client of epayClients) {
  test(`${client.name}: its request is an order, its notice is accepted and acknowledged, a forged one is not`, () => {
    const order = read(client);
    assert.not(isDoorFault(order), JSON.stringify(order));
    if (isDoorFault(order)) return;
    assert.is(Number(order.terms.money), Number(client.sends.money));
    assert.is(order.terms.type, client.sends.type ?? 'usdt');
    assert.equal(read(client, {}, `${KEY}2`), { field: 'sign', code: 'signature' });
    assert.equal(read(client, { money: '0.01' }), { field: 'sign', code: 'signature' });

    const paid = paidDoorOrder({ ...order, tradeNo: '12345678901234567890123456789012' });
    const url = new URL(addQuery(order.terms.notifyUrl, epay.notice(paid, KEY)));
    const answer = answerOf(client, url.searchParams, KEY);
    assert.is(answer, client.answers[0]);
    assert.ok(epay.isAccepted(200, answer));
    const forged = answerOf(client, url.searchParams, `${KEY}2`);
    assert.is(forged, client.answers[1]);
    assert.not(epay.isAccepted(200, forged));
    // The request itself is no notice.
    assert.is(answerOf(client, new URLSearchParams(client.sends), KEY), client.answers[1]);

    const created: Readonly<Record<string, unknown>> = epay.createdAnswer(paid, 'https://pay.example/pay/cs_1');
    assert.is(created.code, 1);
    if (client.opens) {
      assert.is(
        created[client.opens.find((name) => created[name] !== undefined) ?? ''],
        'https://pay.example/pay/cs_1',
      );
    }
  });
}

test.run();
