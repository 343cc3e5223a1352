/**
 * `quayside doctor` on an installation of which every part is there, and then breaks one by one.
 */

import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { databaseFindings, permissionFindings } from '../../scripts/cli/doctor-machine.ts';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { writeServerFile } from '../../src/app/server-file.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { newSession } from '../support/new-session.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens, startSandboxNode } from '../support/sandbox-node.ts';
import { thawAll } from '../support/thaw.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-doctor-'));
const data = join(folder, 'data');
const seed = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0");
const xpub = seed.publicExtendedKey;
const node = await startSandboxNode({ seed: 'doctor', finalityDistance: 2 });
for (let n = 0; n < 6; n++) node.world.mine();
const rates = createServer((_request, response) => void response.end(JSON.stringify(sources))).listen(0, '127.0.0.1');
const sources = [{ source: 'static', ageS: 1, fresh: true, pairs: 2, fault: null }];
const network = { url: node.wsUrl, xpub, chain_id: SANDBOX_CHAIN_ID, tokens: sandboxTokens };
const file = join(folder, 'quayside.json');
const write = (more: object = {}, own: object = {}): void => {
  writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { ...network, ...own } }, ...more }));
  chmodSync(file, 0o600);
};
write();
const variables: Record<string, string> = { QUAYSIDE_CONFIG: file };

const made = JSON.parse((await runQuayside(['store', 'add', 'Shop', '--json'], variables)).out);
const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
const database = openDatabase(config, process.env);
const [followed] = config.networks;
invariant(followed, 'there is a network');
const chain = ingestedChain(() => database, systemClock, followed);
const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
const pool = { family: 'evm', mode: 'test' as const, source: xpubFingerprint(xpub) };
await database.addresses.add({ ...pool, firstIndex: 0, keys });
await chain.mine();
if (!rates.listening) await once(rates, 'listening');
const metricsUrl = `http://127.0.0.1:${(rates.address() as AddressInfo).port}`;
const baseUrl = 'http://127.0.0.1:1';
const urls = { base_url: baseUrl, metrics_url: metricsUrl, dashboard_url: baseUrl };
const serverFile = { pid: process.pid, port: 1, ...urls, secret_keys: [] };
writeServerFile(data, serverFile);
test.after(async () => {
  database.close();
  rates.close();
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

type Found = Readonly<{ area: string; severity: string; text: string; next?: string }>;

/** Reports what running processes report every few seconds. */
async function report(): Promise<void> {
  node.world.mine();
  await chain.report('following');
  const nowMs = systemClock.nowMs();
  const attempts = { delivered: 0, retry: 0, failed: 0 };
  await database.sending.report({ pid: 1, underWay: 0, attempts, startedAtMs: nowMs, atMs: nowMs });
}

async function examine(...words: string[]): Promise<{ code: number; all: Found[]; bad: Found[]; text: string }> {
  await report();
  const { code, out, err } = await runQuayside(['doctor', ...words, '--json'], variables);
  assert.is(err, '');
  const all: Found[] = JSON.parse(out).findings;
  const people = await runQuayside(['doctor', ...words], variables);
  assert.is(people.code, code);
  if (process.env.SHOW) process.stdout.write(`$ quayside doctor\n${people.out}(exit code ${code})\n\n`);
  return { code, all, bad: all.filter(({ severity }) => severity !== 'ok'), text: people.out };
}

/** Asserts that exactly one thing is wrong. */
async function assertOnly(severity: string, area: string, text: RegExp | string, next: RegExp | string): Promise<void> {
  const { code, bad, text: shown } = await examine();
  assert.equal(
    bad.map((one) => [one.severity, one.area]),
    [[severity, area]],
    shown,
  );
  assert.is(code, severity === 'error' ? 2 : 1);
  assert.match(bad[0]?.text ?? '', text);
  assert.match(bad[0]?.next ?? '', next);
}

test('a whole installation has nothing wrong, and every part is named', async () => {
  const { code, all, bad, text } = await examine('--full');
  assert.equal([code, bad], [0, []], text);
  const areas =
    'version configuration permissions disk database ledger server rates network addresses webhooks payouts signer ' +
    'backup notices node';
  assert.equal([...new Set(all.map(({ area }) => area))].sort(), areas.split(' ').sort());
  assert.match(text, `of chain ${SANDBOX_CHAIN_ID}, with USDT and USDC, `);
  assert.match(text, 'at block');
  assert.match(text, 'no backup was made here');
  assert.match(text, 'nothing is wrong');
});

test('what variables set is listed', async () => {
  writeFileSync(join(folder, 'level'), 'warn\n');
  variables.QUAYSIDE_LOG_LEVEL_FILE = join(folder, 'level');
  const { code, text } = await examine();
  assert.is(code, 0, text);
  assert.match(text, 'set by variables: log_level by QUAYSIDE_LOG_LEVEL_FILE');
  delete variables.QUAYSIDE_LOG_LEVEL_FILE;
});

test('settings that are wrong, and a key that others can read', async () => {
  write({ port: 'x' });
  const wrong = await examine();
  assert.equal([wrong.code, wrong.bad.map(({ area }) => area)], [2, ['configuration']]);
  assert.match(wrong.bad[0]?.text ?? '', 'port');
  write();
  chmodSync(join(data, 'secret.key'), 0o644);
  const open = await examine();
  assert.is(open.code, 2);
  assert.match(open.bad[0]?.text ?? '', 'secret.key is open to other users');
  assert.match(open.bad[0]?.next ?? '', /chmod 600 .*secret\.key/);
  chmodSync(join(data, 'secret.key'), 0o600);
  chmodSync(file, 0o644);
  await assertOnly('warning', 'permissions', 'quayside.json is open to other users', 'chmod o= ');
  write();
});

test('the settings that come with the program may be read by all: variables set the rest, as in a container', () => {
  const shipped = join(installationFolder, 'config/default.json');
  const found = permissionFindings({ dataDir: data }, { QUAYSIDE_CONFIG: shipped });
  assert.equal(
    found.filter(({ text }) => text.includes(shipped)),
    [],
  );
});

test('a node of another chain, an old one, and one that does not answer', async () => {
  write({}, { chain_id: '5' });
  await assertOnly('error', 'node', `expected a node of chain 5, found chain ${SANDBOX_CHAIN_ID}`, 'quayside show');
  write({}, { witness_url: 'http://127.0.0.1:9' });
  await assertOnly('error', 'node', 'its second node (witness_url)', 'docs/networks.md');
  write();
  await node.stop();
  await assertOnly('error', 'node', 'test:ethereum: its node', 'quayside show');
  assert.equal((await examine('--without-nodes')).bad, []);
  await node.start();
});

test('a disk that is nearly full, stale rates, an endpoint that fails, and a freeze', async () => {
  write({ alarms: { disk_free_bytes_min: 1_000_000_000_000_000 } });
  const full = await examine('--without-nodes');
  assert.equal(
    full.bad.map(({ area }) => area),
    ['disk'],
    full.text,
  );
  write();
  Object.assign(sources[0] ?? {}, { fresh: false });
  await assertOnly('error', 'rates', 'no source has a fresh rate', 'rates');
  Object.assign(sources[0] ?? {}, { fresh: true });
  const nowMs = systemClock.nowMs();
  const frozen = { network: followed.key, code: 'operator', reason: 'a test', frozenBy: 'alice', sinceMs: nowMs };
  await database.holds.freeze(frozen, null);
  await assertOnly('error', 'payouts', 'money out is frozen', 'payout reconcile');
  await thawAll(database, followed.key, { atMs: nowMs, operator: 'a', command: 'x', reason: 'over' });
  const alarm = {
    atMs: nowMs,
    code: 'clock_skewed',
    message: 'off by 90 s',
    network: null,
    sessionId: null,
    key: 'clock',
  };
  await database.alarms.keep(alarm);
  await assertOnly('warning', 'alarms', 'clock_skewed: off by 90 s', 'docs/reference/alarms.md');
  await database.alarms.end('clock', nowMs);
});

test('payouts that wait for the chain of their start have nothing wrong; those that are stopped do', async () => {
  const report = (code: string, message: string) =>
    database.engines.report(followed.key, { code, message }, systemClock.nowMs());
  await report('payouts_reading', 'block 20 is not final yet');
  const { code, text } = await examine('--without-nodes');
  assert.is(code, 0, text);
  assert.match(text, 'they begin soon: block 20 is not final yet');
  await report('payouts_not_adopted', 'the signer has signed more');
  await assertOnly('warning', 'payouts', 'payouts are stopped: the signer has signed more', 'quayside status');
  await database.engines.report(followed.key, null, systemClock.nowMs());
});

test('an empty pool says what fills it; a database out of reach is not called lost, and a damaged one is', async () => {
  const other = HDKey.fromMasterSeed(new Uint8Array(32).fill(4)).derive("m/44'/60'/0'/0").publicExtendedKey;
  write({}, { xpub: other });
  const { bad } = await examine('--without-nodes');
  const empty = bad.find(({ area }) => area === 'addresses');
  assert.match(empty?.text ?? '', '0 addresses free, 0 taken: new sessions do not offer its networks');
  assert.match(empty?.next ?? '', 'start it with `npm start`');
  write();
  const dataDir = join(folder, 'unreachable');
  mkdirSync(join(dataDir, 'quayside.db'), { recursive: true });
  const [outOfReach] = databaseFindings({ dataDir });
  assert.match(outOfReach?.text ?? '', 'cannot be used now');
  assert.match(outOfReach?.next ?? '', /nothing in it is lost: make room .* `quayside doctor` again/);
  rmSync(join(dataDir, 'quayside.db'), { recursive: true });
  writeFileSync(join(dataDir, 'quayside.db'), 'no database at all, but long enough to be read as one'.repeat(99));
  assert.match(databaseFindings({ dataDir })[0]?.next ?? '', 'restore a backup');
});

test('a signer that does not answer, and a server that does not run', async () => {
  write({ signer: { dir: 'signer', unlock: 'external' } });
  const { bad, code } = await examine('--without-nodes');
  assert.is(code, 2);
  assert.equal(
    bad.map(({ area }) => area),
    ['permissions', 'signer'],
  );
  assert.match(bad[1]?.text ?? '', 'Check that it runs and is unlocked');
  write();
  rmSync(join(data, 'server.json'));
  await assertOnly('error', 'server', 'the server is not running', 'npm start');
  writeServerFile(data, serverFile);
});

test('a ledger that does not add up, and a file that is damaged, are found in a copy', async () => {
  await database.sessions.create(
    newSession({ storeId: made.id, name: '1a', networks: [followed], amountMinor: 1000, nowMs: systemClock.nowMs() }),
  );
  const to = (await database.sessions.find(`cs_${'1a'.padStart(26, '0')}`))?.addresses.evm ?? '';
  await chain.confirm(await chain.mine([{ to, currency: 'USDT', units: 10_000_000n }]));
  const raw = new Sqlite(join(data, 'quayside.db'));
  raw.pragma('wal_checkpoint(TRUNCATE)');
  const other = mkdtempSync(join(folder, 'copy-'));
  const copy = join(other, 'quayside.db');
  copyFileSync(join(data, 'quayside.db'), copy);
  copyFileSync(join(data, 'secret.key'), join(other, 'secret.key'));
  raw.close();
  const edited = new Sqlite(copy);
  edited.exec(`UPDATE ledger_postings SET units = '1' WHERE account = 'collected'`);
  edited.pragma('foreign_keys = OFF');
  edited.exec(`INSERT INTO deliveries SELECT * FROM deliveries LIMIT 0; UPDATE transfers SET address_id = 4711`);
  edited.pragma('wal_checkpoint(TRUNCATE)');
  edited.close();
  const words = ['doctor', '--without-nodes', '--json'];
  const broken = await runQuayside(words, { ...variables, QUAYSIDE_DATA_DIR: other });
  const found: Found[] = JSON.parse(broken.out).findings;
  assert.is(broken.code, 2);
  const texts = found
    .filter(({ severity }) => severity === 'error')
    .map(({ text }) => text)
    .join('\n');
  assert.match(texts, /transfers \d+ names no row of addresses/);
  assert.match(texts, /does not add up: entry 1: test:ethereum USDT by/);
  const bytes = readFileSync(copy);
  bytes.fill(0xff, 8192, 20_000);
  writeFileSync(copy, bytes);
  const damaged = await runQuayside(words, { ...variables, QUAYSIDE_DATA_DIR: other });
  assert.is(damaged.code, 2);
  const [first] = (JSON.parse(damaged.out).findings as Found[]).filter(({ area }) => area === 'database');
  assert.is(first?.severity, 'error');
  assert.match(first?.next ?? '', 'restore a backup');
});

test.run();
