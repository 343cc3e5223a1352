/** Refunds that wait for an approval: each is an alarm, from its request until the decision. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { APPROVAL_ALARMS_MAX } from '../../src/database/alarms.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import { paidSale } from '../support/payment-scenes.ts';

const [first, second] = ['aa', 'bb'].map((start) => chains.evm.address.format(start.padEnd(40, '7')));

/** Runs with a store whose refunds above one dollar wait, and a paid session. */
const withSale = (work: (api: ApiServer, sessionId: string) => Promise<void>) =>
  withApi({ pages: true }, async (api) => {
    await api.database().stores.setRefundPolicy(api.merchantId, { refundAutoMinor: 1_00 });
    const sale = await paidSale(api);
    await work(api, sale.id);
  });

async function ask(api: ApiServer, order_id: string, refund_id: string, amount: string): Promise<string> {
  const metadata = { refund_address: first };
  const body = { order_id, refund_id, amount, currency: 'USDT', metadata };
  const answer = await api.send('POST', '/api/v1/refunds/create', body);
  assert.is(answer.status, 201, JSON.stringify(answer.json));
  const made = (await api.database().refunds.list({ limit: 200 })).find(({ refundId }) => refundId === refund_id);
  assert.ok(made);
  return made.id;
}

/** Returns the refunds that open alarms are about. */
const told = async (api: ApiServer): Promise<string[]> =>
  (await api.database().alarms.listOpen()).flatMap(({ code, key }) =>
    code === 'refund_unapproved' && key !== null ? [key.slice(`approval:${api.merchantId}/`.length)] : [],
  );

test('a refund that waits for an approval is an alarm, which ends with the decision', () =>
  withSale(async (api, session) => {
    const database = api.database();
    await ask(api, session, 'small', '1.00');
    assert.equal(await told(api), []);
    const [one, two] = [await ask(api, session, 'one', '2.00'), await ask(api, session, 'two', '3.00')];
    assert.equal(await told(api), [one, two]);
    const [alarm] = await database.alarms.listOpen();
    assert.is(alarm?.sessionId, session, 'so that it reaches whoever is informed about this store');
    assert.match(alarm?.message ?? '', new RegExp(`refund approve ${one}.*refund reject ${one} --reason`));
    assert.not.match(alarm?.message ?? '', new RegExp(`${first}|2\\.00`), 'neither amount nor destination');
    assert.equal(await database.alarms.listOfStore({ storeId: api.merchantId, mode: 'test' }, 9), [], 'it has a list');
    await approve(database, one, api.clock.nowMs());
    assert.equal(await told(api), [two]);
    await database.refunds.reject(two, 'no', api.clock.nowMs());
    assert.equal(await told(api), []);
  }));

test('it is one again when its destination is changed after the approval, and until it is canceled', () =>
  withSale(async (api, session) => {
    const database = api.database();
    const id = await ask(api, session, 'one', '2.00');
    await approve(database, id, api.clock.nowMs());
    await database.refunds.advance(api.clock.nowMs(), 10);
    assert.equal(await told(api), []);
    const moved = await api.send('POST', '/api/v1/refunds/one/destination', { address: second });
    assert.is(moved.status, 200);
    assert.equal(await told(api), [id]);
    assert.is((await api.send('POST', '/api/v1/refunds/one/cancel', {})).status, 200);
    assert.equal(await told(api), []);
  }));

test('one store cannot pile up alarms: the next is raised when one is decided about', () =>
  withSale(async (api, session) => {
    const database = api.database();
    await database.stores.setRefundPolicy(api.merchantId, { refundAutoMinor: 0 });
    const ids: string[] = [];
    for (let at = 0; at < APPROVAL_ALARMS_MAX + 2; at++) {
      ids.push(await ask(api, session, `r-${at}`, '0.10'));
      api.clock.advance(1_000);
    }
    assert.equal(await told(api), ids.slice(0, APPROVAL_ALARMS_MAX));
    await database.refunds.reject(ids[3] ?? '', 'no', api.clock.nowMs());
    assert.equal(await told(api), [...ids.slice(0, 3), ...ids.slice(4, APPROVAL_ALARMS_MAX + 1)]);
    await database.refunds.reject(ids.at(-1) ?? '', 'no', api.clock.nowMs());
    assert.is((await told(api)).length, APPROVAL_ALARMS_MAX);
  }));

test.run();
