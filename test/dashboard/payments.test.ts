/** The list of payments: filters, and the list as CSV. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { writeSlices } from '../../src/web/slices.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { PAYEE } from '../support/dashboard-pages.ts';
import { txOf } from '../support/ingested-chain.ts';
import { factsOf, rowsOf, textOf } from '../support/read-page.ts';

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

/** Reads CSV whose cells have no line breaks. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, 16).map(([, cell = '']) => cell);

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
      ...{ Order: 'eur A year of hosting', 'Received, asked': `35.0875 USDT 25.99 EUR at ${rate}` },
      ...{ Network: 'Ethereum (ERC20)', Status: 'paid too much' },
    };
    assert.equal(await row(), { ...paid, Refunded: '–' });
    const page = (await owner.get(`${base}/${made.id}`)).text;
    assert.match(textOf(page), /35\.0875 USDT paid too much 25\.99 EUR asked, at [\d.]+ since \d{4}-/);
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
    await create(dashboard, 'two', {}, { on: 'ethereum', units: 10_500_000n });
    await create(dashboard, 'three', {});
    const shown = async (query: string) => ordersOf((await owner.get(`${base}${query}`)).text);
    assert.equal(await shown(''), ['three', 'two', 'one']);
    assert.match((await owner.get(base)).text, '<th scope="col" aria-sort="descending">Created at</th>');
    assert.equal(await shown('?status=paid'), ['two', 'one']);
    assert.equal(await shown('?status=pending'), ['three']);
    const day = new Date(api.clock.nowMs()).toISOString().slice(0, 10);
    const next = new Date(api.clock.nowMs() + DAY_MS).toISOString().slice(0, 10);
    assert.equal(await shown(`?from=${day}&to=${day}`), ['three', 'two', 'one'], 'the last day is shown whole');
    assert.equal(await shown(`?from=${next}`), []);
    assert.equal(await shown('?status=nothing&flag=mars&from=yesterday'), ['three', 'two', 'one']);
    const { text } = await owner.get(`${base}?status=paid&from=${day}`);
    assert.match(text, `payments.csv?status=paid&amp;from=${day}`);
    assert.match(text, '<option value="paid" selected>');
    assert.match((await owner.get(`${base}?status=failed`)).text, 'No payment matches.');

    const csv = await owner.get(`${base}.csv?status=paid&from=${day}`);
    const lines = csv.text.trimEnd().split('\r\n');
    assert.equal(
      lines.slice(1).map((line) => cellsOf(line)[2]),
      ['two', 'one'],
    );
  }));

test('payments are filtered by what is odd about them', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const base = `/s/${api.merchantId}/test/payments`;
    await create(dashboard, 'exact', {}, { on: 'ethereum', units: 10_500_000n });
    await create(dashboard, 'over', {}, { on: 'ethereum', units: 12_500_000n });
    await create(dashboard, 'under', { amount: 2000, currency: 'EUR' }, { on: 'ethereum', units: 5_000_000n });
    await create(dashboard, 'none', { currency: 'EUR' });
    const late = await create(dashboard, 'late', { expires_in: 60 });
    await api.chain('ethereum', 'test').report('following');
    api.clock.advance(3_700_000);
    const chain = api.chain('ethereum', 'test');
    const to = (await api.database().sessions.find(late.id))?.addresses.evm ?? '';
    await chain.confirm(await chain.mine([{ to, currency: 'USDT', units: 10_500_000n }]));
    await api.database().sessions.settleDue(api.clock.nowMs(), 100);
    const again = await dashboard.person('Bob', { role: 'owner', storeId: api.merchantId });
    const shown = async (query: string) => ordersOf((await again.get(`${base}${query}`)).text);
    assert.equal(await shown('?flag=over'), ['over']);
    assert.equal(await shown('?flag=under'), ['under']);
    assert.equal(await shown('?flag=late'), ['late']);
    assert.equal(await shown('?flag=held'), ['late', 'over'], 'that with too little can still be topped up');
    assert.equal(await shown('?flag=held&status=paid'), ['over']);
    assert.equal((await shown('?flag=odd')).length, 5, 'what is no choice filters nothing');
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

test('the export has what the list has, without formulas, and is in the audit log', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const orders = ['=1+1', '+2', '-3+4', '@SUM(A1)', 'plain', 'a,"b"'];
    const made: Made[] = [];
    for (const [at, orderId] of orders.entries()) {
      const units = 10_500_000n + BigInt(at);
      const paid = at < 2 ? ({ on: 'ethereum', units } as const) : ({ on: 'bsc', units: units * 10n ** 12n } as const);
      made.push(await create(dashboard, orderId, {}, at < 3 ? paid : undefined));
    }
    const [one, two, three] = made;
    assert.ok(one && two && three);
    (await refund(dashboard, one, '4.50'))();
    await refund(dashboard, two, '1.00');
    const { text, headers, status } = await owner.get(`/s/${api.merchantId}/test/payments.csv`);
    assert.is(status, 200);
    assert.is(headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.match(
      headers.get('content-disposition') ?? '',
      /^attachment; filename="payments-mer_\w+-test-[\d-]+-utc\.csv"$/,
    );
    const [first = '', ...lines] = text.trimEnd().split('\r\n');
    assert.is(first.split(',').slice(0, 3).join(), 'created,session,order');
    const rows = lines.map(cellsOf);
    assert.equal(
      rows.map(([, , order]) => order),
      ['"a,""b"""', 'plain', "'@SUM(A1)", "'-3+4", "'+2", "'=1+1"],
    );
    const cells = (...names: string[]) =>
      rows.map((row) => names.map((name) => row[first.split(',').indexOf(name)] ?? ''));
    assert.equal(cells('rate_source', 'received', 'coins').at(-1), ['par', '10.50', 'USDT']);
    assert.equal(
      cells('network', 'tx', 'refunded').slice(2),
      [
        ['', '', ''],
        ['bsc', three.tx, ''],
        ['ethereum', two.tx, ''],
        ['ethereum', one.tx, '4.50 USDT'],
      ],
      'only what was paid back is refunded',
    );
    const received = cells('received').reduce((sum, [cell]) => sum + Number(cell), 0);
    assert.ok(Math.abs(received - 31.500003) < 1e-9, String(received));
    const own = { storeId: api.merchantId, mode: 'test' } as const;
    const [totals = []] = await api.database().reports.sumCredits(own, [0, 2 * Date.now()]);
    const credited = totals.reduce((sum, { creditedPar }) => sum + creditedPar, 0n);
    assert.is(credited, 31_500_003_000_000_000_000n, 'as the overview says');
    const [entry] = await api.database().audit.list(1);
    assert.equal(
      [entry?.command, entry?.target, entry?.operator],
      ['export payments', api.merchantId, 'Ada (dashboard)'],
    );
  }));

test('a file reads no further than it is read', async () => {
  let reads = 0;
  const read = async (after: string | null) => {
    reads++;
    const at = Number(after ?? 0);
    return { rows: [[at]], goOn: at === 3 ? null : String(at + 1) };
  };
  const parts = writeSlices(systemClock, ['number'], read);
  await parts.next();
  await parts.next();
  await new Promise((done) => setTimeout(done, 50));
  assert.is(reads, 1, 'the second slice waits until the first was taken');
  await parts.return(undefined);
  let whole = '';
  for await (const part of writeSlices(systemClock, ['number'], read)) whole += part;
  assert.is(whole, 'number\r\n0\r\n1\r\n2\r\n3\r\n');
});

test.run();
