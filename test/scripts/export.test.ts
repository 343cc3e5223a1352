/**
 * Exported books of a real database: files, formats, exact amounts and values, texts that spreadsheets would run, and
 * that the rows add up to the balances of the ledger.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { invariant } from '../../src/core/fault.ts';
import { parseUnits } from '../../src/core/money.ts';
import { sweepIntent } from '../../src/core/sweep.ts';
import { csvCell } from '../../src/lib/export-text.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { handClock } from '../support/hand-clock.ts';
import { txOf } from '../support/ingested-chain.ts';
import { openToolBench } from '../support/tool-bench.ts';

const PAYEE = '0x1234567890123456789012345678901234567890';
const DECIMALS: Readonly<Record<string, number>> = { USDT: 6, ETH: 18 };
const evil = '=HYPERLINK("http://x","a, b")';

const clock = handClock(Date.UTC(2026, 9, 31, 23, 0));
const bench = await openToolBench({ clock });
const { folder, run, answer, config, database, network, chain, store, order } = bench;
test.after(bench.close);
const { id: other } = await answer('store', 'add', 'Other');
const check = await createDestinationCheck(config);
const pool = { family: 'evm', mode: 'test' } as const;

async function refund(sessionId: string, storeId: string, refundId: string, amountMinor: bigint): Promise<void> {
  const wish = { storeId, mode: 'test' as const, refundId, sessionId, amountMinor, currency: 'USDT' as const };
  const replay = { idempotencyKey: null, path: '/api/v1/refunds/create', bodyHash: refundId };
  const rest = { reason: null, description: null, metadata: null, refundAddress: PAYEE, replay, nowMs: clock.nowMs() };
  const outcome = await database.refunds.create({ ...wish, ...rest }, check);
  assert.is(outcome.kind, 'created', inspect(outcome));
}

async function sweep(): Promise<void> {
  const place = { network: network.key, pool };
  const { owners } = await database.sweeps.unswept(place, 0, 20);
  assert.ok(owners.length >= 2, 'there is money to sweep');
  const planned = { sweep: sweepIntent(network.key, { currency: 'USDT', owners }), keys: owners.map(({ key }) => key) };
  const sweeps = [{ ...planned, before: [], after: null }];
  await database.sweeps.plan({ ...place, treasury: 'd'.repeat(40), sweeps, nowMs: clock.nowMs() });
}

/** Pays out everything that is due, at one more base unit each. */
async function carryAll(): Promise<void> {
  // Until then a refund can be canceled.
  clock.advance(120_000);
  await database.refunds.advance(clock.nowMs(), 10);
  clock.advance(61_000);
  const nowMs = clock.nowMs();
  const open = await database.payouts.open(network.key, nowMs, 20);
  for (const [at, { payout }] of open.entries()) {
    const { id, intent } = payout;
    const name = { id, generation: 0, attempt: 0 };
    const payerRole = intent.kind === 'sweep' ? ('collection' as const) : ('refund' as const);
    const own = { payer: 'a'.repeat(40), payerRole, nonce: null, terms: {}, feeUnitsMax: 10n ** 18n };
    const allotted = await database.payouts.allot({ ...name, ...own, intent, nowMs });
    assert.is(allotted.kind, 'allotted', inspect(allotted));
    const tx = `0x${String(at + 1).padStart(64, '0')}`;
    const signed = { ...name, id: at + 1, intent, terms: {}, signedAtMs: nowMs, tx, bytes: new Uint8Array([1]) };
    await database.payouts.recordSigned(network.key, [signed]);
    await database.payouts.recordSent({ ...name, answerCode: 'ok', answer: 'ok', refusal: null, nowMs });
    const ended = { tx, feeUnits: 21_000_000_000_001n + BigInt(at) };
    await database.payouts.settle({ id, generation: 0, outcome: { kind: 'succeeded', ended }, nowMs });
  }
}

type Row = Readonly<Record<string, string>>;

/** Reads CSV as RFC 4180 has it. */
function readCsv(text: string): Row[] {
  const [head = [], ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
      ),
    );
  return lines.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at] ?? ''])));
}

const kindsOf = {
  payments: ['payment', 'payment_reversed'],
  refunds: ['refund_paid', 'refund_matched'],
  sweeps: ['sweep_done'],
  fees: ['fee'],
  adjustments: ['adjustment'],
};
type BookKind = keyof typeof kindsOf;
let files = 0;
async function rowsOf(book: BookKind, ...words: string[]): Promise<Row[]> {
  const file = join(folder, `out-${files++}.csv`);
  const { code, err } = await run('export', '--output', file, ...words);
  assert.is(code, 0, err);
  assert.is(statSync(file).mode & 0o777, 0o600);
  return readCsv(readFileSync(file, 'utf8')).filter(({ kind = '' }) => kindsOf[book].includes(kind));
}
const cellsOf = (row: Row | undefined, names: string): unknown[] => names.split(' ').map((name) => row?.[name]);

const unitsOf = ({ amount, currency }: Row): bigint => {
  const text = String(amount);
  const units = parseUnits(text.replace('-', ''), DECIMALS[String(currency)] ?? 0);
  invariant(units !== null, `${text} is an amount`);
  return text.startsWith('-') ? -units : units;
};
const sumOf = (rows: readonly Row[]): bigint => rows.reduce((sum, row) => sum + unitsOf(row), 0n);

await database.engines.nextFence(network.key, 0);
const first = await order('1a', { orderId: evil });
const paid = await first.pay(10_000_001n);
clock.advance(3_600_000);
const second = await order('2a', { storeId: other, orderId: 'yen', currency: 'JPY', rate: '0.0066' });
await chain.finalize(await second.pay(10_000_000n));
await refund(first.id, store, 'r1', 450n);
await refund(second.id, other, 'r2', 123n);
await sweep();
await carryAll();
await (await order('3a', { storeId: other, orderId: 'undone' })).pay(7_000_000n);
await chain.orphanTip();

test('a payment has its exact amount, value, transaction and order; a reversal is a row below zero', async () => {
  const [one, two, three, four, ...rest] = await rowsOf('payments');
  assert.is(rest.length, 0);
  assert.equal(cellsOf(one, 'time store amount value value_currency rate rate_source transaction order'), [
    '2026-10-31T23:00:00.000Z',
    store,
    '10.000001',
    '10.000001',
    'USD',
    '1',
    'par',
    txOf(paid, 0),
    `'${evil}`,
  ]);
  const valued = 'amount value value_currency rate_source rate_time';
  assert.equal(cellsOf(two, valued), ['10.00', '1515', 'JPY', 'locked', '2026-11-01T00:00:00.000Z']);
  assert.equal(cellsOf(three, 'order amount'), ['undone', '7.00']);
  assert.equal(cellsOf(four, 'kind amount value reverses'), ['payment_reversed', '-7.00', '-7.00', three?.entry]);
});

test('sums of payments, refunds, sweeps and fees are those of the ledger, to the last unit', async () => {
  const report = await database.ledger.verify();
  assert.equal(report.problems, []);
  const balance = (name: string, isNative = false): bigint =>
    report.balances
      .filter(({ account, asset }) => account === name && (asset === 'native') === isNative)
      .reduce((sum, { units }) => sum + units, 0n);
  const [payments, refunds, sweeps, fees] = await Promise.all(
    (['payments', 'refunds', 'sweeps', 'fees'] as const).map((book) => rowsOf(book)),
  );
  assert.ok(payments && refunds && sweeps && fees);
  const counts = [payments, refunds, sweeps, fees].map(({ length }) => length);
  assert.equal(counts, [4, 2, 1, 3]);
  assert.is(sumOf(payments), balance('collected') + balance('in_transit') + balance('treasury'));
  assert.is(sumOf(refunds), -balance('refunded'));
  assert.is(sumOf(sweeps), balance('treasury'));
  assert.is(sumOf(fees), balance('fees', true));
  assert.equal([sumOf(refunds), sumOf(sweeps), sumOf(fees)], [5_730_000n, 20_000_001n, 63_000_000_000_006n]);
});

test('a refund has its value at the rate of its session, a transaction and a receipt', async () => {
  const rows = (await rowsOf('refunds')).sort((a, b) => String(a.refund).localeCompare(String(b.refund)));
  const names = 'amount value value_currency rate rate_source rate_time to refund order';
  assert.equal(
    rows.map((row) => cellsOf(row, names)),
    [
      ['4.50', '4.50', 'USD', '1', 'par', '', PAYEE, 'r1', `'${evil}`],
      ['1.23', '186', 'JPY', '0.0066', 'locked', '2026-11-01T00:00:00.000Z', PAYEE, 'r2', 'yen'],
    ],
  );
  for (const row of rows) {
    assert.match(String(row.transaction), /^0x\d{64}$/);
    assert.match(String(row.receipt), /^RF-2026-/);
  }
});

test('a sweep and each fee name their transaction and payout', async () => {
  const [swept] = await rowsOf('sweeps');
  assert.equal(cellsOf(swept, 'amount currency'), ['20.000001', 'USDT']);
  const fees = await rowsOf('fees');
  assert.equal(fees.map(({ payout_kind }) => payout_kind).sort(), ['refund', 'refund', 'sweep']);
  const paidOut = [...(await rowsOf('refunds')), ...(swept ? [swept] : [])];
  assert.equal(
    fees.map(({ transaction, payout }) => [transaction, payout]).sort(),
    paidOut.map(({ transaction, payout }) => [transaction, payout]).sort(),
  );
});

test('a range includes its first moment and not its last, and a store sees only its own', async () => {
  const lengthOf = async (...words: string[]) => (await rowsOf('payments', ...words)).length;
  assert.is(await lengthOf('--to', '2026-11-01'), 1);
  assert.equal([await lengthOf('--from', '2026-11-01'), await lengthOf('--from', '9999d')], [3, 4]);
  assert.is(await lengthOf('--from', '2026-10-31T23:00:00Z', '--to', '2026-11-01'), 1);
  assert.is(await lengthOf('--store', other), 3);
  const refused = ['export', '--output', join(folder, 'refused.csv')];
  assert.equal((await run(...refused, '--store', 'mer_none')).code, 3);
  assert.equal((await run(...refused, '--from', 'yesterday')).code, 2);
  assert.equal((await run(...refused, '--from', '2026-11-02', '--to', '2026-11-01')).code, 2);
});

test('CSV is quoted as RFC 4180 says, and nothing in it runs as a formula', async () => {
  const file = join(folder, 'books.csv');
  assert.equal(await answer('export', '--output', file), { rows: 10, file });
  const text = readFileSync(file, 'utf8');
  assert.match(text, /^time,entry,kind,store,mode,network,currency,amount,value,/);
  assert.ok(text.includes(`,"'=HYPERLINK(""http://x"",""a, b"")",`));
  assert.match(text, ',-7.00,-7.00,USD,', 'a number below zero stays a number');
  const again = await run('export', '--output', file);
  assert.is(again.code, 1);
  assert.match(again.err, 'exists already; name another file');
  for (const bad of ['=1', '+1+1', '-1+1', '@x', '\tx', '\rx', '＝1'])
    assert.match(csvCell(bad), /^"?'/, JSON.stringify(bad));
  assert.is(csvCell("T-shirt;=cmd|'/C calc'!A0;blue"), "T-shirt;'=cmd|'/C calc'!A0;blue");
  assert.is(csvCell('a\t@b;+1;-'), "a\t'@b;'+1;'-");
  for (const fine of ['a;b', '-1.50', '12', 'a=b', '', 'x-y']) assert.is(csvCell(fine), fine);
});

test.run();
