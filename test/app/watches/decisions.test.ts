/** A request for a decision has an alarm until it is decided; of each kind, the oldest alone. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DECISIONS_REPORTED_MAX, watchDecisions } from '../../../src/app/watches/decisions.ts';
import { chains } from '../../../src/chains/index.ts';
import { type ApiServer, withApi } from '../../support/api-server.ts';
import { approve } from '../../support/approve.ts';
import { merchantStore } from '../../support/new-session.ts';
import { paidSale } from '../../support/payment-scenes.ts';
import { CALM_MS, watched } from '../../support/watched.ts';

const first = chains.evm.address.format('aa'.padEnd(40, '7'));

async function ask(api: ApiServer, order_id: string, refund_id: string, amount: string): Promise<string> {
  const body = { order_id, refund_id, amount, currency: 'USDT', metadata: { refund_address: first } };
  const answer = await api.send('POST', '/api/v1/refunds/create', body);
  assert.is(answer.status, 201, JSON.stringify(answer.json));
  const made = (await api.database().refunds.list({ limit: 200 })).find(({ refundId }) => refundId === refund_id);
  assert.ok(made);
  return made.id;
}

/** Runs with a store whose refunds above one dollar wait, a paid session, and the watch. */
const withSale = (
  work: (
    api: ApiServer,
    sessionId: string,
    told: () => Promise<string[]>,
    look: () => Promise<unknown>,
  ) => Promise<void>,
) =>
  withApi({ pages: true }, async (api) => {
    const database = api.database();
    await database.stores.update(api.merchantId, { refundAutoMinor: 1_00 });
    const sale = await paidSale(api);
    const bench = watched(watchDecisions(database), database, api.clock);
    const look = async () => {
      await bench.look();
      return bench.after(CALM_MS);
    };
    const told = async () => {
      await look();
      return (await bench.open()).flatMap(({ key }) => key?.replace(/^approval:\w+\//, '') ?? []).sort();
    };
    await work(api, sale.id, told, look);
  });

test('a refund that waits for an approval has an alarm, which ends with the decision', () =>
  withSale(async (api, session, told) => {
    const database = api.database();
    await ask(api, session, 'small', '1.00');
    assert.equal(await told(), []);
    const [one, two] = [await ask(api, session, 'one', '2.00'), await ask(api, session, 'two', '3.00')];
    assert.equal(await told(), [one, two].sort());
    const alarm = (await database.alarms.listOpen()).find(({ key }) => key?.endsWith(one));
    assert.is(alarm?.code, 'refund_unapproved');
    assert.match(alarm?.message ?? '', new RegExp(`refund approve ${one}.*refund reject ${one} --reason`));
    assert.not.match(alarm?.message ?? '', new RegExp(`${first}|2\\.00`), 'neither amount nor destination');
    await approve(database, one, api.clock.nowMs());
    await database.refunds.reject(two, 'no', api.clock.nowMs());
    assert.equal(await told(), []);
  }));

test('one store cannot pile up alarms: the next is raised when one is decided about', () =>
  withSale(async (api, session, told) => {
    const database = api.database();
    await database.stores.update(api.merchantId, { refundAutoMinor: 0 });
    const ids: string[] = [];
    for (let at = 0; at < DECISIONS_REPORTED_MAX + 2; at++) {
      ids.push(await ask(api, session, `r-${at}`, '0.10'));
      api.clock.advance(1_000);
    }
    assert.equal(await told(), ids.slice(0, DECISIONS_REPORTED_MAX).sort());
    await database.refunds.reject(ids[3] ?? '', 'no', api.clock.nowMs());
    assert.equal(await told(), [...ids.slice(0, 3), ...ids.slice(4, DECISIONS_REPORTED_MAX + 1)].sort());
  }));

test('a store that waits has an alarm without its name, which ends with the decision', () =>
  withSale(async (api, _session, _told, look) => {
    const database = api.database();
    await database.stores.create({ ...merchantStore(), id: 'mer_new', name: 'A new shop', status: 'pending' });
    assert.equal(await look(), ['store_waiting']);
    const [alarm] = await database.alarms.listOpen();
    assert.is(alarm?.key, 'store:mer_new');
    assert.match(alarm?.message ?? '', /`quayside store decide mer_new approve`.*suspend --reason …`.*page Stores/);
    assert.not.match(alarm?.message ?? '', /A new shop/);
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'store decide', reason: 'no shop' };
    await database.stores.decide('mer_new', 'suspend', act);
    assert.equal(await look(), []);
  }));

test.run();
