/** Exported books of a real database: files, formats, exact amounts, values, and texts that spreadsheets would run. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import { csvCell, rowWriter } from '../../src/lib/export-text.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain, txOf } from '../support/ingested-chain.ts';
import { newSession, plainRequest } from '../support/new-session.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-export-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
writeFileSync(settings, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
const variables = { QUAYSIDE_CONFIG: settings };
const run = (...words: string[]) => runQuayside(words, variables);

const store = JSON.parse((await run('store', 'add', 'Shop', '--json')).out);
const other = JSON.parse((await run('store', 'add', 'Other', '--json')).out);
const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
const database = openDatabase(config, process.env);
const [network] = config.networks;
invariant(network, 'there is a network');
const clock = handClock(Date.UTC(2026, 9, 31, 23, 0));
const chain = ingestedChain(() => database, clock, network);
test.after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});
const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
await chain.mine();

/** Creates an order; `rate` in stablecoin for one unit of its currency. */
async function order(name: string, storeId: string, orderId = name, currency = 'USD', rate: string | null = null) {
  invariant(network, 'there is a network');
  await chain.report('following');
  const wish = newSession({ storeId, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() });
  const conversion = rate === null ? null : { rate, currency: 'USDT' as const, amountMinor: 1000n };
  const asked = { ...plainRequest(orderId, 1000n), currency };
  const outcome = await database.sessions.create({ ...wish, request: asked, conversion });
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  const to = outcome.session.addresses.evm ?? '';
  return { id: outcome.session.id, pay: (units: bigint) => chain.mine([{ to, currency: 'USDT', units }]) };
}

const evil = '=HYPERLINK("http://x","a, b")';
const first = await order('1a', store.id, evil);
const paid = await first.pay(10_000_001n);
await chain.confirm(paid);
clock.advance(3_600_000);
const second = await order('2a', other.id, 'yen', 'JPY', '0.0066');
const taken = await second.pay(5_000_000n);
await chain.confirm(taken);
await chain.orphanTip();

let files = 0;
async function rowsOf(kind: string, ...words: string[]): Promise<Record<string, string | null>[]> {
  const file = join(folder, `out-${files++}.json`);
  const { code, err } = await run('export', kind, '--format', 'json', '--output', file, ...words);
  assert.is(code, 0, err);
  assert.is(statSync(file).mode & 0o777, 0o600);
  return JSON.parse(readFileSync(file, 'utf8'));
}

test('a payment has its exact amount, value, transaction and order; a reversal is a row below zero', async () => {
  const [one, two, three, ...rest] = await rowsOf('payments');
  assert.is(rest.length, 0);
  const {
    time,
    store: owner,
    amount,
    value,
    value_currency,
    rate,
    rate_source,
    transaction,
    order: orderId,
  } = one ?? {};
  assert.equal(
    [time, owner, amount, value, value_currency, rate, rate_source, transaction, orderId],
    ['2026-10-31T23:00:00.000Z', store.id, '10.000001', '10.000001', 'USD', '1', 'par', txOf(paid, 0), evil],
  );
  assert.equal([two?.amount, two?.value, two?.value_currency, two?.rate_source], ['5.00', '758', 'JPY', 'locked']);
  assert.equal([three?.kind, three?.amount, three?.value], ['payment_reversed', '-5.00', '-758']);
  assert.is(three?.reverses, two?.entry);
  assert.is(two?.rate_time, '2026-11-01T00:00:00.000Z');
});

test('a range includes its first moment and not its last, and a store sees only its own', async () => {
  assert.is((await rowsOf('payments', '--to', '2026-11-01')).length, 1);
  assert.is((await rowsOf('payments', '--from', '2026-11-01')).length, 2);
  assert.is((await rowsOf('payments', '--from', '2026-10-31T23:00:00Z', '--to', '2026-11-01')).length, 1);
  assert.is((await rowsOf('payments', '--store', other.id)).length, 2);
  assert.is((await rowsOf('refunds')).length, 0);
  assert.equal((await run('export', 'payments', '--store', 'mer_none')).code, 3);
  assert.equal((await run('export', 'payments', '--from', 'yesterday')).code, 2);
  assert.equal((await run('export', 'payments', '--from', '2026-11-02', '--to', '2026-11-01')).code, 2);
});

test('CSV is quoted as RFC 4180 says, and nothing in it runs as a formula', async () => {
  const file = join(folder, 'payments.csv');
  const summary = await run('export', 'payments', '--output', file, '--json');
  assert.equal(JSON.parse(summary.out), { kind: 'payments', format: 'csv', rows: 3, file });
  const lines = readFileSync(file, 'utf8').split('\r\n');
  assert.is(lines.length, 5, 'a header, three rows, and the end of the last line');
  assert.match(lines[0] ?? '', /^time,entry,kind,store,mode,network,currency,amount,value,/);
  assert.ok((lines[1] ?? '').endsWith(`,"'=HYPERLINK(""http://x"",""a, b"")",`));
  assert.match(lines[3] ?? '', ',-5.00,-758,JPY,', 'a number below zero stays a number');
  const again = await run('export', 'payments', '--output', file);
  assert.is(again.code, 1);
  assert.match(again.err, 'exists already; name another file');
  assert.is((await run('export', 'payments', '--json')).code, 2);
  for (const bad of ['=1', '+1+1', '-1+1', '@x', '\tx', '\rx', '＝1'])
    assert.match(csvCell(bad), /^"?'/, JSON.stringify(bad));
  assert.is(csvCell("T-shirt;=cmd|'/C calc'!A0;blue"), "T-shirt;'=cmd|'/C calc'!A0;blue");
  assert.is(csvCell('a\t@b;+1;-'), "a\t'@b;'+1;'-");
  for (const fine of ['a;b', '-1.50', '12', 'a=b', '', 'x-y']) assert.is(csvCell(fine), fine);
});

test('an empty export is a header, or an empty array', () => {
  const csv = rowWriter('csv', ['a', 'b']);
  assert.is(csv.begin + csv.end, 'a,b\r\n');
  const json = rowWriter('json', ['a']);
  assert.equal(JSON.parse(json.begin + json.end), []);
  assert.equal(JSON.parse(json.begin + json.row(['x'], true) + json.row([null], false) + json.end), [
    { a: 'x' },
    { a: null },
  ]);
});

test.run();
