/** The list of payments with its filters, one payment’s history, and the books as CSV. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { txOf } from '../support/ingested-chain.ts';
import { factsOf, rowsOf, textOf } from '../support/read-page.ts';
import { PAYEE } from './every-page.ts';

/** `tx`: of what was paid, if anything was. */
type Made = Readonly<{ id: string; orderId: string; tx: string }>;

/** Creates a session and pays it on a network, if one is named. */
async function create(
  { api }: Dashboard,
  orderId: string,
  order: Readonly<Record<string, unknown>>,
  paid?: Readonly<{ on: 'ethereum' | 'bsc'; units: bigint }>,
): Promise<Made> {
  // Ids of one millisecond have no order.
  api.clock.advance(5);
  const body = { amount: 1050, currency: 'USD', order_id: orderId, ...order };
  const { json } = await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', body);
  const id = String((json as { id?: string }).id);
  const session = await api.database().sessions.find(id);
  assert.ok(session, orderId);
  if (!paid) return { id, orderId, tx: '' };
  const chain = api.chain(paid.on, 'test');
  const block = await chain.mine([{ to: session.addresses.evm ?? '', currency: 'USDT', units: paid.units }]);
  await chain.confirm(block);
  return { id, orderId, tx: txOf(block, 0) };
}

/** Asks for a refund of a payment. @returns what completes it */
async function refund({ api }: Dashboard, made: Made, amount: string): Promise<() => void> {
  const metadata = { refund_address: PAYEE };
  const asked = { order_id: made.id, refund_id: `of ${made.id}`, amount, currency: 'USDT', metadata };
  await api.client(api.testKey).send('POST', '/api/v1/refunds/create', asked);
  const [pending] = await api.database().refunds.list({ sessionId: made.id, limit: 1 });
  return () => {
    const db = new Sqlite(api.file);
    db.prepare(
      "UPDATE refunds SET status = 'completed', receipt_number = 'RF-2027-00000001', tx = '0x1', processed_at_ms = 1 WHERE id = ?",
    ).run(pending?.id);
    db.close();
  };
}

const ordersOf = (text: string) => rowsOf(text, 'Test payments').map(({ Order }) => Order);

test('what came stands over what was asked, with coins, networks and refunds', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const base = `/s/${api.merchantId}/test/payments`;
    const row = async () => {
      const [{ 'Created at': _, ...cells } = {}] = rowsOf((await owner.get(base)).text, 'Test payments');
      return cells;
    };
    const order = { amount: 2599, currency: 'EUR', description: 'A year of hosting' };
    const made = await create(dashboard, 'eur', order, { on: 'ethereum', units: 35_087_500n });
    const rate = (await api.database().sessions.find(made.id))?.conversion?.rate;
    const paid = {
      Order: 'eur A year of hosting',
      'Received, asked': `35.0875 USDT 25.99 EUR at ${rate}`,
      Network: 'Ethereum (ERC20)',
      Status: 'paid too much',
    };
    assert.equal(await row(), { ...paid, Refunded: '–' });
    const page = (await owner.get(`${base}/${made.id}`)).text;
    assert.is(factsOf(page).Description, 'A year of hosting');

    const complete = await refund(dashboard, made, '4.50');
    assert.is((await row()).Refunded, '–', 'it is not paid back yet');
    complete();
    assert.equal(await row(), { ...paid, Refunded: '4.50 USDT' });

    await create(dashboard, 'none', {});
    const unpaid = { Order: 'none', 'Received, asked': '– 10.50 USD', Network: '–', Status: 'pending', Refunded: '–' };
    assert.equal(await row(), unpaid);
  }));

test('filters live in the address, hold on every page, and go into the export', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const base = `/s/${api.merchantId}/test/payments`;
    await create(dashboard, 'one', {}, { on: 'ethereum', units: 10_500_000n });
    await create(dashboard, 'two', {}, { on: 'ethereum', units: 12_500_000n });
    await create(dashboard, 'three', {});
    const shown = async (query: string) => ordersOf((await owner.get(`${base}${query}`)).text);
    assert.equal(await shown(''), ['three', 'two', 'one']);
    assert.equal(await shown('?status=paid'), ['two', 'one']);
    assert.equal(await shown('?status=pending'), ['three']);
    assert.equal(await shown('?status=held'), ['two'], 'more was paid than was due');
    const day = new Date(api.clock.nowMs()).toISOString().slice(0, 10);
    const next = new Date(api.clock.nowMs() + DAY_MS).toISOString().slice(0, 10);
    assert.equal(await shown(`?from=${day}&to=${day}`), ['three', 'two', 'one'], 'the last day is shown whole');
    assert.equal(await shown(`?from=${next}`), []);
    assert.equal(await shown('?status=nothing&from=yesterday'), ['three', 'two', 'one']);
    const { text } = await owner.get(`${base}?status=paid&from=${day}`);
    for (const kept of ['<option value="paid" selected>', `name="from" value="${day}"`]) assert.ok(text.includes(kept));
  }));

test('a payment that was made before the clock was set back by days stays in the list', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    await create(dashboard, 'o-ahead', {});
    api.clock.advance(-3 * DAY_MS);
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    assert.equal(ordersOf((await owner.get(`/s/${api.merchantId}/test/payments`)).text), ['o-ahead']);
  }));

test('the timeline has the refunds and events for nobody', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const made = await create(dashboard, 'one', {}, { on: 'ethereum', units: 10_500_000n });
    (await refund(dashboard, made, '4.50'))();
    const page = await owner.get(`/s/${api.merchantId}/test/payments/${made.id}`);
    const [transfer] = rowsOf(page.text, 'Transfers');
    assert.equal([transfer?.Amount, transfer?.Network], ['10.50 USDT', 'Ethereum (ERC20)']);
    const history = textOf(page.text.slice(page.text.indexOf('id="history"')));
    assert.match(history, /Paid .*payment\.completed : no endpoint has subscribed to it/);
    assert.match(history, `Refund of ${made.id} 4.50 USDT completed`);
  }));

test('the books of the store’s mode are files for who may export, of the days of the list, and in the audit log', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const amy = await dashboard.person('Amy', { role: 'accountant', storeId: api.merchantId });
    const base = `/s/${api.merchantId}/test`;
    const made = await create(dashboard, '=1+1', {}, { on: 'ethereum', units: 10_500_000n });
    await create(dashboard, 'two', {}, { on: 'bsc', units: 10_500_000_000_000_000_000n });
    (await refund(dashboard, made, '4.50'))();
    const day = new Date(api.clock.nowMs()).toISOString().slice(0, 10);
    const list = (await amy.get(`${base}/payments?from=${day}`)).text;
    assert.ok(list.includes(`href="${base}/books.csv?from=${day}"`), 'the list leads to the file of its days');
    const read = async (path: string) => {
      const { text, headers } = await amy.get(base + path);
      assert.is(headers.get('content-type'), 'text/csv; charset=utf-8');
      assert.match(
        headers.get('content-disposition') ?? '',
        /^attachment; filename="\w+-mer_\w+-test-[\d-]+-\w+\.csv"$/,
      );
      const [head = '', ...lines] = text.trimEnd().split('\r\n');
      const names = head.split(',');
      return lines.map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at], cell])));
    };
    const rows = await read(`/books.csv?from=${day}`);
    const shown = rows.map(({ order, network, amount, transaction }) => [order, network, amount, transaction]);
    assert.equal(
      shown.find(([, network]) => network === 'ethereum'),
      ["'=1+1", 'ethereum', '10.50', made.tx],
    );
    assert.equal([rows.length, new Set(rows.map(({ mode }) => mode))], [2, new Set(['test'])]);
    const [entry] = await api.database().audit.list(1);
    const { command, target, operator, after } = entry ?? {};
    assert.equal(
      { command, target, operator, after },
      {
        command: 'export books',
        target: api.merchantId,
        operator: 'Amy (dashboard)',
        after: { mode: 'test', from: day },
      },
    );
    const next = new Date(api.clock.nowMs() + DAY_MS).toISOString().slice(0, 10);
    assert.equal(await read(`/books.csv?from=${next}`), []);
  }));

test.run();
