/**
 * Somebody who can write to the database file, and has no key: what they alter is not used. Nobody gets the rights of
 * another key, no foreign address is shown or credited, and no refund leaves to it. Over real HTTP.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import {
  askRefund,
  confirmTip,
  finalizeTip,
  finalSale,
  leaveAddress,
  openSale,
  paidSale,
} from '../support/payment-scenes.ts';
import { alterRow, raw } from '../support/raw.ts';
import { until } from '../support/until.ts';
import { expectError } from './expect-error.ts';

const FOREIGN = '8'.repeat(40);
const foreignText = chains.evm.address.format(FOREIGN);
const SESSIONS = '/api/v1/checkout/sessions';

/** Writes to the file as another program does. */
const alter = ({ file }: ApiServer, sql: string, ...values: readonly string[]): void => alterRow(file, sql, ...values);

const alarmsOf = async (api: ApiServer) =>
  (await api.database().alarms.list(50)).filter(({ code }) => code === 'row_altered').map(({ message }) => message);
const alarmed = (api: ApiServer, text: string) =>
  until(`an alarm names ${text}`, async () => (await alarmsOf(api)).some((message) => message.includes(text)));

const changes: readonly (readonly [what: string, sql: (victim: string) => string])[] = [
  ['the store of another', (victim) => `store_id = '${victim}'`],
  ['more scopes', () => `scopes = '["sessions:read","refunds:write"]'`],
  ['another mode', () => `mode = 'live'`],
  ['the hash of another key', () => `key_hash = '${'0'.repeat(64)}'`],
  ['a secret in no known form', () => `secret = 'x'`],
  ['no MAC', () => 'mac = NULL'],
];

test('a key whose row was altered authorises nothing, whatever was altered, and other keys work', () =>
  withApi({}, async (api) => {
    const victim = await api.addMerchant();
    const path = `${SESSIONS}/cs_00000000000000000000000000`;
    for (const [what, sql] of changes) {
      const key = await api.addKey(api.merchantId, 'test', ['sessions:read']);
      assert.is((await api.client(key).send('GET', path)).status, 404, 'it works');
      alter(api, `UPDATE keys SET ${sql(victim)} WHERE id = ?`, key.id);
      const answer = await api.client(key).send('GET', path);
      expectError(answer, { status: 401, code: 'invalid_api_key', param: null }, what);
      if (what !== 'the hash of another key') await alarmed(api, key.id);
      assert.is((await api.send('GET', path)).status, 404, 'another key of the store');
    }
  }));

test('a revoked key does not come back when somebody takes its revocation away', () =>
  withApi({}, async (api) => {
    const key = await api.addKey(api.merchantId, 'test');
    await api.database().keys.revoke(key.id, { atMs: 1, operator: 'root', command: 'key revoke', reason: null });
    alter(api, 'UPDATE keys SET revoked_at_ms = NULL WHERE id = ?', key.id);
    expectError(await api.client(key).send('GET', `${SESSIONS}/cs_0`), { status: 401, code: 'invalid_api_key' });
    await alarmed(api, key.id);
    // The operator's way out: revoking it again makes the row whole.
    await api.database().keys.revoke(key.id, { atMs: 2, operator: 'root', command: 'key revoke', reason: null });
    assert.is((await api.database().keys.show(key.id))?.revokedAtMs, 2);
    expectError(await api.client(key).send('GET', `${SESSIONS}/cs_0`), { status: 401, code: 'invalid_api_key' });
    assert.is((await alarmsOf(api)).length, 1);
  }));

test('a deposit address that was altered is neither shown nor credited, and other sessions go on', () =>
  withApi({ pages: true }, async (api) => {
    const [sale, other] = [await openSale(api), await openSale(api)];
    const swapped = `UPDATE addresses SET key = ? WHERE session_id = ?`;
    alter(api, swapped, FOREIGN, sale.id);
    const answer = await api.send('GET', `${SESSIONS}/${sale.id}`);
    expectError(answer, { status: 500, code: 'internal_error' });
    const page = await fetch(`${api.baseUrl}${sale.payerPath}`);
    assert.is(page.status, 503);
    for (const text of [answer.text, await page.text()]) {
      assert.not.match(text.toLowerCase(), FOREIGN);
      assert.not.match(text, foreignText);
    }
    await alarmed(api, sale.id);
    await api.chain('ethereum').mine([{ to: FOREIGN, currency: 'USDT', units: 10_500_000n }]);
    await confirmTip(api);
    const credited = raw(api.file, (client) => client.prepare('SELECT * FROM transfers').all());
    assert.equal(credited, []);
    assert.is((await fetch(`${api.baseUrl}${other.payerPath}`)).status, 200);
    await other.send('10.50');
    await confirmTip(api);
    assert.is((await api.send('GET', `${SESSIONS}/${other.id}`)).status, 200);
  }));

test('somebody else’s session cannot be given a deposit address that was taken, and no altered one is given out', () =>
  withApi({ addresses: 3, pages: true }, async (api) => {
    const [own, victim] = [await openSale(api), await openSale(api)];
    const before = await api.send('GET', `${SESSIONS}/${own.id}`);
    alter(api, 'UPDATE addresses SET session_id = ? WHERE session_id = ?', own.id, victim.id);
    assert.equal((await api.send('GET', `${SESSIONS}/${own.id}`)).json, before.json);
    assert.is((await api.send('GET', `${SESSIONS}/${victim.id}`)).status, 500);
    await victim.send('10.50');
    await confirmTip(api);
    assert.equal((await api.send('GET', `${SESSIONS}/${own.id}`)).json, before.json, 'it gets nothing of the payment');
    alter(api, `UPDATE addresses SET key = ? WHERE state = 'free' AND mode = 'test'`, FOREIGN);
    const order = { order_id: 'o3', amount: 1050, currency: 'USDT' };
    const answer = await api.send('POST', `${SESSIONS}/create`, order);
    assert.ok(answer.status >= 400, answer.text);
    assert.not.match(answer.text, foreignText);
    await alarmed(api, FOREIGN);
  }));

test('a refund address that was altered is not paid: the refund waits for one that a payer or merchant names', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await finalSale(api);
    const left = chains.evm.address.format('7'.repeat(40));
    assert.is((await leaveAddress(api, sale, left)).status, 303);
    alter(api, 'UPDATE refund_addresses SET key = ? WHERE session_id = ?', FOREIGN, sale.id);
    const answer = await askRefund(api, sale, 'r1');
    assert.is(answer.status, 201, answer.text);
    assert.not.match(answer.text, foreignText);
    assert.is((answer.json as { destination?: unknown }).destination, undefined);
    await alarmed(api, sale.id);
    // The payer leaves it again: the row is whole.
    assert.is((await leaveAddress(api, sale, left)).status, 303);
    const { json } = await api.send('GET', '/api/v1/refunds/r1');
    assert.is((json as { destination?: { address: string } }).destination?.address, left);
  }));

test('a sender that was altered is not refunded, where refunds go back to senders', () =>
  withApi({}, async (api) => {
    await api.database().stores.update(api.merchantId, { refundToSender: true });
    const sales = [await paidSale(api), await paidSale(api)] as const;
    await finalizeTip(api);
    const [altered, other] = sales;
    const of = '(SELECT id FROM addresses WHERE session_id = ?)';
    alter(api, `UPDATE transfers SET from_key = ? WHERE address_id IN ${of}`, FOREIGN, altered.id);
    const refund = async (sale: { id: string }) => {
      const answer = await askRefund(api, sale, sale.id);
      assert.is(answer.status, 201, answer.text);
      return (answer.json as { destination_source?: string }).destination_source;
    };
    assert.is(await refund(other), 'sender');
    assert.is(await refund(altered), undefined);
    await alarmed(api, altered.id);
  }));

for (const change of [
  `destination = '${FOREIGN}'`,
  `units = '4500001'`,
  `amount_minor = '451'`,
  'session_id = (SELECT id FROM sessions WHERE id <> refunds.session_id)',
  `mac = 'm'`,
])
  test(`a refund that was altered (${change}) shows no destination, and an alarm says what to do`, () =>
    withApi({}, async (api) => {
      await api.database().stores.update(api.merchantId, { refundToSender: true });
      const sale = await finalSale(api);
      await openSale(api);
      assert.is((await askRefund(api, sale, 'r1')).status, 201);
      const [before] = await api.database().refunds.list({ limit: 9 });
      assert.is(before?.destination?.from, 'sender');
      alter(api, `UPDATE refunds SET ${change}`);
      const [after] = await api.database().refunds.list({ limit: 9 });
      assert.is(after?.destination, null);
      await alarmed(api, `quayside refund destination ${after?.id}`);
    }));

test.run();
