/** Reports: what a store received, refunded and paid in fees in some days, on the page and in the files. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { formatUnits, parseUnits } from '../../src/core/money.ts';
import { sweepIntent } from '../../src/core/sweep.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { type Dashboard, textOf, type Visitor, withDashboard } from '../support/dashboard.ts';

const network = 'test:ethereum';
const PAYEE = chains.evm.address.format(`c0ffee${'1'.repeat(34)}`);

type Shop = Dashboard & Readonly<{ base: string; ada: Visitor; day: string; next: string }>;

/** A store whose clock shows 20:00 UTC, which is the next day in Kolkata. */
const withShop = (work: (shop: Shop) => Promise<void>): Promise<void> =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const day = dateOf(api.clock.nowMs() + DAY_MS);
    api.clock.advance(Date.parse(`${day}T20:00:00Z`) - api.clock.nowMs());
    const ada = await dashboard.person('Ada', { role: 'accountant', storeId: api.merchantId });
    await api.chain('ethereum', 'test').report('following');
    await api.database().nextFence(network, 0, api.clock.nowMs());
    await work({ ...dashboard, base: `/s/${api.merchantId}/test`, ada, day, next: dateOf(Date.parse(day) + DAY_MS) });
  });

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Creates an order and pays it, so that it can be refunded. @returns its session's id */
async function pay({ api }: Shop, orderId: string, currency: 'USDT' | 'USDC', units: bigint): Promise<string> {
  const order = { amount: 1050, currency: 'USD', order_id: orderId };
  const { json } = await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', order);
  const { id = '' } = json as { id?: string };
  const to = (await api.database().findSession(id))?.addresses.evm ?? '';
  const chain = api.chain('ethereum', 'test');
  const block = await chain.mine([{ to, currency, units }]);
  await chain.confirm(block);
  await chain.finalize(block);
  return id;
}

async function refund({ api }: Shop, order_id: string, refund_id: string, amount: string, currency = 'USDT') {
  const asked = { order_id, refund_id, amount, currency, metadata: { refund_address: PAYEE } };
  const { status } = await api.client(api.testKey).send('POST', '/api/v1/refunds/create', asked);
  assert.is(status, 201);
  const found = await api.database().findRefund({ storeId: api.merchantId, mode: 'test', refundId: refund_id });
  return found.kind === 'found' ? found.refund.id : '';
}

let signatures = 0;

/** Carries a payout out, by as many transactions as there are fees: only the last succeeds. @param atMs when it ends */
async function payOut({ api }: Shop, id: string, fees: readonly bigint[], atMs: number): Promise<void> {
  const database = api.database();
  await database.advanceRefunds(api.clock.nowMs(), 1000);
  for (const [generation, feeUnits] of fees.entries()) {
    const intent = (await database.findPayout(id))?.intent;
    assert.ok(intent, id);
    const [name, nowMs] = [{ id, generation, attempt: 0 }, api.clock.nowMs() + 61_000];
    const payerRole = intent.kind === 'sweep' ? 'collection' : 'refund';
    const own = { payer: 'a'.repeat(40), payerRole, nonce: null, terms: {}, feeUnitsMax: 10n ** 18n } as const;
    assert.is((await database.allotAttempt({ ...name, ...own, intent, nowMs })).kind, 'allotted');
    const tx = `0x${String(++signatures).padStart(64, '0')}`;
    const signed = { ...name, id: signatures, intent, terms: {}, signedAtMs: nowMs, tx, bytes: new Uint8Array([1]) };
    await database.recordSigned(network, [signed]);
    const ended = { tx, feeUnits };
    const renewed = { proof: 'failed', ended, notBeforeMs: nowMs, isStuck: false, why: null } as const;
    if (generation < fees.length - 1) await database.newGeneration({ id, generation, ...renewed, nowMs });
    else await database.settlePayout({ id, generation, outcome: { kind: 'succeeded', ended }, nowMs: atMs });
  }
}

/** Plans a sweep of everything that lies on deposit addresses. @returns its id */
async function planSweep({ api }: Shop): Promise<string> {
  const place = { network, pool: { family: 'evm', mode: 'test' } } as const;
  const { owners } = await api.database().unswept(place, 0, 20);
  const due = owners.map((owner) => ({ owner, why: 'value' as const }));
  const sweep = sweepIntent(network, { currency: 'USDT', due });
  const sweeps = [{ sweep, keys: owners.map(({ key }) => key), before: [], after: null }];
  await api.database().planSweeps({ ...place, treasury: 'd'.repeat(40), sweeps, nowMs: api.clock.nowMs() });
  return sweep.id;
}

/** Reads the rows of CSV whose cells have neither commas nor line breaks, as objects. */
function rowsOf(csv: string): readonly Readonly<Record<string, string>>[] {
  const [names = [], ...rows] = csv
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  return rows.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])));
}

/** Adds up a column, exactly. */
const sumOf = (rows: readonly Readonly<Record<string, string>>[], column: string): string =>
  formatUnits(
    rows.reduce((sum, row) => sum + (parseUnits(row[column] ?? '', 18) ?? 0n), 0n),
    18,
    2,
  );

const of = (rows: readonly Readonly<Record<string, string>>[], currency: string) =>
  rows.filter((row) => row.currency === currency);

test('sums of payments, refunds, payouts and fees are those of the files of the same days', () =>
  withShop(async (shop) => {
    const { api, base, ada, day } = shop;
    const first = await pay(shop, 'one', 'USDT', 10_500_000n);
    const second = await pay(shop, 'two', 'USDC', 11_250_000n);
    await api.client(api.testKey).send('POST', '/api/v1/checkout/sessions/create', {
      ...{ amount: 1050, currency: 'USD', order_id: 'open' },
    });
    const paid = [
      await refund(shop, first, 'r1', '4.50'),
      await refund(shop, first, 'r2', '1.25'),
      await refund(shop, second, 'r3', '0.75', 'USDC'),
    ];
    await refund(shop, first, 'r4', '0.10');
    const nowMs = api.clock.nowMs() + 61_000;
    await payOut(shop, paid[0] ?? '', [40_000_000_000_001n, 21_000_000_000_000n], nowMs);
    await payOut(shop, paid[1] ?? '', [23_000_000_000_005n], nowMs + 1);
    await payOut(shop, paid[2] ?? '', [25_000_000_000_000n], nowMs + 2);

    const query = `?from=${day}&to=${day}`;
    const { text } = await ada.get(`${base}/reports${query}`);
    const page = textOf(text);
    const file = async (path: string) => {
      assert.match(text, `href="${base}/${path}${query.replace('&', '&amp;')}"`);
      const answer = await ada.get(`${base}/${path}${query}`);
      assert.is(answer.status, 200, path);
      const name = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
      assert.match(name ?? '', `-${api.merchantId}-test-${day}-to-${day}-utc.csv`);
      return rowsOf(answer.text);
    };

    const payments = await file('payments.csv');
    assert.match(page, `Created ${payments.length} Paid 2 66.7% Ended unpaid 0 Still open 1`);
    assert.is(payments.filter(({ status }) => status === 'paid').length, 2);
    assert.is(sumOf(payments, 'received'), '21.75');
    assert.match(page, 'Ethereum (ERC20) 1 10.50 USDT – 10.50 USDT');
    assert.match(page, 'Ethereum (ERC20) 1 11.25 USDC – 11.25 USDC');

    const refunds = await file('refunds.csv');
    const completed = refunds.filter(({ status }) => status === 'completed');
    assert.match(page, `completed 2 ${sumOf(of(completed, 'USDT'), 'amount')} USDT`);
    assert.match(page, `completed 1 ${sumOf(of(completed, 'USDC'), 'amount')} USDC`);
    assert.match(
      page,
      `processing 1 ${sumOf(
        refunds.filter(({ status }) => status === 'processing'),
        'amount',
      )} USDT`,
    );

    const payouts = await file('reports/payouts.csv');
    assert.equal(
      payouts.map(({ refund: id }) => id),
      ['r1', 'r2', 'r3'],
    );
    assert.match(
      page,
      `Paid back Network Number Amount Ethereum (ERC20) 1 ${sumOf(of(payouts, 'USDC'), 'amount')} USDC`,
    );
    assert.match(page, `Ethereum (ERC20) 2 ${sumOf(of(payouts, 'USDT'), 'amount')} USDT`);
    assert.equal([payouts[0]?.to, payouts[0]?.receipt?.slice(0, 3), payouts[0]?.order], [PAYEE, 'RF-', 'one']);

    const fees = await file('reports/fees.csv');
    assert.equal(
      fees.map(({ outcome }) => outcome),
      ['failed', 'paid', 'paid', 'paid'],
    );
    assert.is(sumOf(fees, 'fee'), sumOf(payouts, 'fee'));
    assert.is(sumOf(fees, 'fee'), '0.000109000000000006');
    assert.match(page, `Ethereum (ERC20) 4 ${sumOf(fees, 'fee')} native`);
    const ledger = (await api.database().verifyLedger()).balances.find(({ account }) => account === 'fees');
    assert.is(formatUnits(ledger?.units ?? 0n, 18, 2), sumOf(fees, 'fee'), 'the ledger has the same');

    assert.match(page, `${day} 21.75 USDT / USDC 2 – 6.50 USDT / USDC`);
    const [entry] = await api.database().listAudit(1);
    assert.equal(
      [entry?.command, entry?.operator, entry?.target, entry?.after],
      ['export fees', 'Ada (dashboard)', api.merchantId, { mode: 'test', from: day, to: day }],
    );
  }));

test('days begin and end at the midnights of the zone, and the first moment of a day is its own', () =>
  withShop(async (shop) => {
    const { base, ada, day, next, api } = shop;
    const session = await pay(shop, 'one', 'USDT', 10_500_000n);
    const last = await refund(shop, session, 'r1', '1.00');
    const first = await refund(shop, session, 'r2', '2.00');
    // 00:00 in Kolkata (+5:30) two days after that of the UTC day on which the shop began.
    const midnightMs = Date.parse(`${next}T18:30:00Z`);
    await payOut(shop, last, [7n], midnightMs - 1);
    await payOut(shop, first, [9n], midnightMs);
    const later = dateOf(Date.parse(next) + DAY_MS);
    const paidOn = async (from: string, to = from) => {
      const query = `?from=${from}&to=${to}`;
      const file = rowsOf((await ada.get(`${base}/reports/payouts.csv${query}`)).text).map(({ refund: id }) => id);
      const { text } = await ada.get(`${base}/reports${query}`);
      const sum = /Paid back Network Number Amount Ethereum \(ERC20\) \d+ (\S+) USDT/.exec(textOf(text))?.[1] ?? null;
      return [file.join(' '), sum];
    };
    assert.equal(await paidOn(day), ['', null]);
    assert.equal(await paidOn(next), ['r1 r2', '3.00']);
    await ada.submit('/account', '/account/zone', { zone: 'Asia/Kolkata' });
    assert.equal(await paidOn(day), ['', null]);
    assert.equal(await paidOn(next), ['r1', '1.00']);
    assert.equal(await paidOn(later), ['r2', '2.00']);
    assert.equal(await paidOn(next, later), ['r1 r2', '3.00']);
    const { headers } = await ada.get(`${base}/reports/payouts.csv?from=${next}&to=${later}`);
    assert.match(headers.get('content-disposition') ?? '', `-${next}-to-${later}-asia-kolkata.csv`);
    const credited = textOf((await ada.get(`${base}/reports?from=${next}&to=${next}`)).text);
    assert.match(credited, `${next} 10.50 USDT 1 – 1.00 USDT`, 'what came at 20:00 UTC is of the next day there');
    assert.not.match(credited, `${day} 10.50`);
    const live = await ada.get(`/s/${api.merchantId}/live/reports?from=${day}&to=${later}`);
    for (const text of ['No payment was credited', 'No refund was made', 'Nothing was paid back', 'has cost a fee'])
      assert.match(textOf(live.text), text, 'the other mode');
  }));

test('an operator sees what was swept, and what payouts of every kind cost, with the files of the same days', () =>
  withShop(async (shop) => {
    const { api, day, next } = shop;
    const session = await pay(shop, 'one', 'USDT', 10_500_000n);
    await pay(shop, 'two', 'USDT', 11_250_000n);
    const id = await refund(shop, session, 'r1', '1.00');
    const nowMs = api.clock.nowMs() + 61_000;
    await payOut(shop, id, [5_000_000_000_000n, 2_000_000_000_001n], nowMs);
    const swept = await planSweep(shop);
    await payOut(shop, swept, [3_000_000_000_000n], nowMs + 1);
    const mary = await shop.person('Mary', { role: 'operator', storeId: null });
    const query = `?from=${day}&to=${day}`;
    const page = textOf((await mary.get(`/operator/reports${query}`)).text);
    const file = async (name: string) => {
      const { headers, text } = await mary.get(`/operator/reports/${name}.csv${query}`);
      assert.match(headers.get('content-disposition') ?? '', `"${name}-${day}-to-${day}-utc.csv"`);
      return rowsOf(text);
    };
    const sweeps = await file('sweeps');
    assert.equal(
      sweeps.map((row) => [row.id, row.network, row.currency, row.amount, row.addresses, row.fee]),
      [[swept, network, 'USDT', '21.75', '2', '0.000003']],
    );
    assert.match(page, `Swept to the treasury Network Number Amount ${network} 1 ${sumOf(sweeps, 'amount')} USDT`);
    const fees = await file('fees');
    assert.equal(
      fees.map(({ kind, outcome }) => `${kind} ${outcome}`),
      ['refund failed', 'refund paid', 'sweep paid'],
    );
    const ofKind = (kind: string) =>
      sumOf(
        fees.filter((row) => row.kind === kind),
        'fee',
      );
    assert.match(page, `${network} refund 2 ${ofKind('refund')} native`);
    assert.match(page, `${network} sweep 1 ${ofKind('sweep')} native`);
    assert.is(ofKind('refund'), '0.000007000000000001');
    const ledger = (await api.database().verifyLedger()).balances.find(({ account }) => account === 'fees');
    assert.is(formatUnits(ledger?.units ?? 0n, 18, 2), sumOf(fees, 'fee'), 'the ledger has the same');
    const none = textOf((await mary.get(`/operator/reports?from=${next}&to=${next}`)).text);
    assert.match(none, 'Nothing was swept in these days.');
    assert.match(none, 'No payout that ended in these days has cost a fee.');
    assert.is((await mary.get(`/operator/reports?from=${next}&to=${day}`)).status, 400);
    const period = { fromMs: Date.parse(day), toMs: Date.parse(next) };
    assert.is(await api.database().sumEndedPayouts(period, 1), null, 'no more than a page adds up');
    assert.is((await api.database().sumEndedPayouts(period, 2))?.sweeps.length, 1);
    const [entry] = await api.database().listAudit(1);
    assert.equal([entry?.command, entry?.after], ['export fees', { from: day, to: day }]);
  }));

test('without days it is this month; too many are not added up, and days in the wrong order are refused', () =>
  withShop(async ({ base, ada, day, next }) => {
    const days = (text: string) => textOf(text).replaceAll(' ,', ',');
    const month = `${day.slice(0, 8)}01`;
    const { text } = await ada.get(`${base}/reports`);
    assert.match(days(text), `${month} to ${day}, whole days of UTC`);
    const chosen = /<a class="button plain" href="([^"]*)" aria-current="true">([^<]*)</.exec(text);
    assert.equal(chosen?.slice(1), [`${base}/reports?from=${month}&amp;to=${day}`, 'This month']);
    const end = dateOf(Date.parse(month) - DAY_MS);
    const last = `${end.slice(0, 8)}01`;
    assert.match(text, `href="${base}/reports?from=${last}&amp;to=${end}">Last month<`);
    assert.match(days((await ada.get(`${base}/reports?to=${end}`)).text), `${last} to ${end},`);
    assert.match(days((await ada.get(`${base}/reports?from=x&to=${end}`)).text), `${last} to ${end},`);

    const from = dateOf(Date.parse(day) - 91 * DAY_MS);
    assert.match(textOf((await ada.get(`${base}/reports?from=${from}&to=${day}`)).text), 'Nothing was paid back');
    const long = await ada.get(`${base}/reports?from=${from}&to=${next}`);
    assert.match(textOf(long.text), 'adds up at most 92 days, and these are 93');
    assert.not.match(long.text, 'Nothing was paid back');
    for (const file of ['payments.csv', 'refunds.csv', 'reports/payouts.csv', 'reports/fees.csv']) {
      assert.match(long.text, `href="${base}/${file}?from=${from}&amp;to=${next}"`);
      assert.is((await ada.get(`${base}/${file}?from=${from}&to=${next}`)).status, 200);
    }
    for (const path of ['/reports', '/reports/fees.csv']) {
      const reversed = await ada.get(`${base}${path}?from=${next}&to=${day}`);
      assert.is(reversed.status, 400);
      assert.match(textOf(reversed.text), 'The first day is after the last one');
    }
  }));

test('more refunds than a page adds up are counted and no more, and a file goes on where a slice ended', () =>
  withShop(async (shop) => {
    const { api, base, ada, day } = shop;
    const session = await pay(shop, 'one', 'USDT', 100_000_000n);
    const ids: string[] = [];
    for (let at = 0; at < 120; at++) ids.push(await refund(shop, session, `r${String(at).padStart(3, '0')}`, '0.01'));
    const endMs = api.clock.nowMs() + 61_000;
    for (const id of ids) await payOut(shop, id, [1n], endMs);
    const at = { storeId: api.merchantId, mode: 'test' } as const;
    const period = { fromMs: Date.parse(day), toMs: Date.parse(day) + DAY_MS };
    const times = [period.fromMs, period.toMs];
    assert.is(await api.database().sumRefunds(at, period, 119), null);
    assert.is((await api.database().sumRefunds(at, period, 120))?.[0]?.count, 120);
    assert.is(await api.database().sumEndedRefunds(at, times, 119), null);
    assert.equal(await api.database().sumEndedRefunds(at, times, 120), {
      periods: [[{ network, currency: 'USDT', status: 'completed', count: 120, amountMinor: 120n }]],
      fees: [{ network, count: 120, units: 120n }],
    });
    for (const file of ['payouts', 'fees']) {
      const rows = rowsOf((await ada.get(`${base}/reports/${file}.csv?from=${day}&to=${day}`)).text);
      assert.is(new Set(rows.map(({ id }) => id)).size, 120, `each once, though all ended in one moment: ${file}`);
      assert.is(rows.length, 120);
    }
  }));

test.run();
