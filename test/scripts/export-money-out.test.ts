/**
 * Exported refunds, sweeps and fees of a real database: none is empty, each row is whole in both formats, and what the
 * rows add up to is what `quayside ledger verify` says.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import { parseUnits } from '../../src/core/money.ts';
import { sweepIntent } from '../../src/core/sweep.ts';
import { type BookKind, bookKinds } from '../../src/database/bookkeeping.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { newSession, plainRequest } from '../support/new-session.ts';
import { runQuayside } from '../support/quayside-process.ts';

const PAYEE = '0x1234567890123456789012345678901234567890';
const DECIMALS: Readonly<Record<string, number>> = { USDT: 6, ETH: 18 };

const folder = mkdtempSync(join(tmpdir(), 'quayside-export-out-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
writeFileSync(settings, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
const variables = { QUAYSIDE_CONFIG: settings };

async function told(...words: string[]): Promise<string> {
  const { code, out, err } = await runQuayside(words, variables);
  assert.is(code, 0, err);
  return out;
}

const store = JSON.parse(await told('store', 'add', 'Shop', '--json'));
const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
const database = openDatabase(config, process.env);
const network = config.networks[0] as NetworkConfig;
const clock = handClock(Date.UTC(2026, 10, 25));
const chain = ingestedChain(() => database, clock, network);
const check = await createDestinationCheck(config);
const pool = { family: 'evm', mode: 'test' } as const;
test.after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});
const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
await database.addresses.add({ ...pool, source: 'test', firstIndex: 0, keys });
await chain.mine();
await database.engines.nextFence(network.key, 0, clock.nowMs());

/** Creates an order and pays it; `rate` in stablecoin for one unit of its currency. */
async function paid(name: string, units: bigint, currency = 'USD', rate: string | null = null) {
  await chain.report('following');
  const wish = newSession({ storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() });
  const conversion = rate === null ? null : { rate, currency: 'USDT' as const, amountMinor: 1000n };
  const outcome = await database.sessions.create({
    ...wish,
    request: { ...plainRequest(name, 1000n), currency },
    conversion,
  });
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  const block = await chain.mine([{ to: outcome.session.addresses.evm ?? '', currency: 'USDT', units }]);
  await chain.confirm(block);
  return { id: outcome.session.id, block };
}

let refunds = 0;
async function refund(sessionId: string, amountMinor: bigint): Promise<void> {
  refunds++;
  const refundId = `r${refunds}`;
  const wish = {
    storeId: store.id,
    mode: 'test' as const,
    refundId,
    sessionId,
    amountMinor,
    currency: 'USDT' as const,
  };
  const replay = { idempotencyKey: null, path: '/api/v1/refunds/create', bodyHash: refundId };
  const rest = { reason: null, description: null, metadata: null, refundAddress: PAYEE, replay, nowMs: clock.nowMs() };
  const outcome = await database.refunds.create({ ...wish, ...rest }, check);
  assert.is(outcome.kind, 'created', inspect(outcome));
}

async function sweep(): Promise<void> {
  const place = { network: network.key, pool };
  const { owners } = await database.sweeps.unswept(place, 0, 20);
  assert.ok(owners.length >= 2, 'there is money to sweep');
  const due = owners.map((owner) => ({ owner, why: 'value' as const }));
  const planned = { sweep: sweepIntent(network.key, { currency: 'USDT', due }), keys: owners.map(({ key }) => key) };
  const sweeps = [{ ...planned, before: [], after: null }];
  await database.sweeps.plan({ ...place, treasury: 'd'.repeat(40), sweeps, nowMs: clock.nowMs() });
}

let signatures = 0;
/** Pays out everything that is due, at one more base unit each. */
async function carryAll(): Promise<void> {
  // Until then a refund can be canceled.
  clock.advance(120_000);
  await database.refunds.advance(clock.nowMs(), 10);
  clock.advance(61_000);
  const nowMs = clock.nowMs();
  for (const { payout } of await database.payouts.open(network.key, nowMs, 20)) {
    const { id, intent } = payout;
    const name = { id, generation: 0, attempt: 0 };
    const payerRole = intent.kind === 'sweep' ? ('collection' as const) : ('refund' as const);
    const own = { payer: 'a'.repeat(40), payerRole, nonce: null, terms: {}, feeUnitsMax: 10n ** 18n };
    const allotted = await database.payouts.allot({ ...name, ...own, intent, nowMs });
    assert.is(allotted.kind, 'allotted', inspect(allotted));
    signatures++;
    const tx = `0x${String(signatures).padStart(64, '0')}`;
    const bytes = new Uint8Array([1]);
    await database.payouts.recordSigned(network.key, [
      { ...name, id: signatures, intent, terms: {}, signedAtMs: nowMs, tx, bytes },
    ]);
    await database.payouts.recordSent({ ...name, answerCode: 'ok', answer: 'ok', refusal: null, nowMs });
    const ended = { tx, feeUnits: 21_000_000_000_000n + BigInt(signatures) };
    await database.payouts.settle({ id, generation: 0, outcome: { kind: 'succeeded', ended }, nowMs });
  }
}

type Row = Readonly<Record<string, string | number | null>>;
let files = 0;
async function exported(kind: BookKind, format: 'csv' | 'json'): Promise<string> {
  const file = join(folder, `${kind}-${files++}.${format}`);
  await told('export', kind, '--format', format, '--output', file, '--from', '2026-11-25', '--to', '2026-11-26');
  return readFileSync(file, 'utf8');
}
const rowsOf = async (kind: BookKind): Promise<Row[]> => JSON.parse(await exported(kind, 'json'));

const unitsOf = ({ amount, currency }: Row): bigint => {
  const text = String(amount);
  const units = parseUnits(text.replace('-', ''), DECIMALS[String(currency)] ?? 0);
  invariant(units !== null, `${text} is an amount`);
  return text.startsWith('-') ? -units : units;
};
const sumOf = (rows: readonly Row[]): bigint => rows.reduce((sum, row) => sum + unitsOf(row), 0n);

const first = await paid('usd', 10_000_001n);
const second = await paid('yen', 10_000_000n, 'JPY', '0.0066');
await chain.finalize(second.block);
await refund(first.id, 450n);
await refund(second.id, 123n);
await sweep();
await carryAll();
await paid('undone', 7_000_000n);
await chain.orphanTip();

test('sums of payments, refunds, sweeps and fees are those of the ledger, to the last unit', async () => {
  const report = JSON.parse(await told('ledger', 'verify', '--json'));
  assert.ok(report.balanced, JSON.stringify(report.problems));
  const balances: readonly Readonly<{ account: string; asset: string; units: string }>[] = report.balances;
  const balance = (name: string, isNative = false): bigint =>
    balances
      .filter(({ account, asset }) => account === name && (asset === 'native') === isNative)
      .reduce((sum, { units }) => sum + BigInt(units), 0n);
  const rows = Object.fromEntries(await Promise.all(bookKinds.map(async (kind) => [kind, await rowsOf(kind)])));
  assert.equal(
    bookKinds.map((kind) => rows[kind].length),
    [4, 2, 1, 3, 0],
    JSON.stringify(rows),
  );
  assert.is(sumOf(rows.payments), balance('collected') + balance('in_transit') + balance('treasury'));
  assert.is(sumOf(rows.refunds), -balance('refunded'));
  assert.is(sumOf(rows.sweeps), balance('treasury'));
  assert.is(sumOf(rows.fees), balance('fees', true));
  assert.equal(
    [sumOf(rows.refunds), sumOf(rows.sweeps), sumOf(rows.fees)],
    [5_730_000n, 20_000_001n, 63_000_000_000_006n],
  );
});

test('a refund has its value at the rate of its session, a transaction, a receipt and its fee', async () => {
  const [one, two] = await rowsOf('refunds');
  const common = ['amount', 'value', 'value_currency', 'rate', 'rate_source', 'rate_time', 'to', 'refund', 'order'];
  const of = (row: Row | undefined) => common.map((name) => row?.[name]);
  const byOrder = [one, two].sort((a, b) => String(a?.order).localeCompare(String(b?.order)));
  const at = new Date(Date.UTC(2026, 10, 25)).toISOString();
  assert.equal(of(byOrder[0]), ['4.50', '4.50', 'USD', '1', 'par', null, PAYEE, 'r1', 'usd']);
  assert.equal(of(byOrder[1]), ['1.23', '186', 'JPY', '0.0066', 'locked', at, PAYEE, 'r2', 'yen']);
  for (const row of byOrder) {
    assert.match(String(row?.transaction), /^0x\d{64}$/);
    assert.match(String(row?.receipt), /^RF-2026-/);
    assert.match(String(row?.fee), /^0\.00002100000000000\d$/);
    assert.is(row?.fee_currency, 'ETH');
  }
});

test('a sweep and each fee name their transaction and payout; what a reorg took back is a counter-entry', async () => {
  const [swept] = await rowsOf('sweeps');
  assert.equal([swept?.amount, swept?.currency, swept?.fee_currency], ['20.000001', 'USDT', 'ETH']);
  const fees = await rowsOf('fees');
  assert.equal(fees.map(({ payout_kind }) => payout_kind).sort(), ['refund', 'refund', 'sweep']);
  const refunded = await rowsOf('refunds');
  assert.equal(
    fees.map(({ transaction, payout, amount }) => [transaction, payout, amount]).sort(),
    [...refunded, ...(swept ? [swept] : [])].map(({ transaction, payout, fee }) => [transaction, payout, fee]).sort(),
  );
  const payments = await rowsOf('payments');
  const undone = payments.find(({ kind }) => kind === 'payment_reversed');
  const taken = payments.find(({ entry }) => entry === undone?.reverses);
  assert.equal([taken?.order, taken?.amount, undone?.amount, undone?.value], ['undone', '7.00', '-7.00', '-7.00']);
});

test.run();
