/**
 * `quayside doctor` on an installation of which every part is there, and then breaks one by one.
 */

import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { writeServerFile } from '../../src/app/server-file.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { have } from '../support/fields.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { thawAll } from '../support/thaw.ts';
import { openToolBench, benchXpub as xpub } from '../support/tool-bench.ts';

const node = await startSimulatedNode({ family: 'evm', seed: 'doctor', finalityDistance: 2 });
for (let n = 0; n < 6; n++) node.world.mine();
const rates = createServer((_request, response) => void response.end(JSON.stringify(sources))).listen(0, '127.0.0.1');
const sources = [{ source: 'static', ageS: 1, fresh: true, pairs: 2, fault: null }];
const own = { url: node.wsUrl, chain_id: SANDBOX_CHAIN_ID, tokens: sandboxTokens };
const bench = await openToolBench({ network: own, source: xpubFingerprint(xpub) });
const { folder, file, variables, database, network: followed, chain } = bench;
const data = join(folder, 'data');
const write = (settings: object = {}, more: object = {}): void => {
  const sepolia = { ...own, xpub, ...more };
  writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia }, ...settings }));
};
if (!rates.listening) await once(rates, 'listening');
const metricsUrl = `http://127.0.0.1:${(rates.address() as AddressInfo).port}`;
const baseUrl = 'http://127.0.0.1:1';
const urls = { base_url: baseUrl, metrics_url: metricsUrl, dashboard_url: baseUrl };
const serverFile = { pid: process.pid, port: 1, ...urls, secret_keys: [] };
writeServerFile(data, serverFile);
test.after(async () => {
  rates.close();
  await node.close();
  bench.close();
});

type Found = Readonly<{ area: string; severity: string; text: string; next?: string }>;

/** Reports what running processes report every few seconds. */
async function report(): Promise<void> {
  node.world.mine();
  await chain.report('following');
}

async function examine(...words: string[]): Promise<{ code: number; all: Found[]; bad: Found[]; text: string }> {
  await report();
  const { code, out, err } = await runQuayside(['doctor', ...words, '--json'], variables);
  assert.is(err, '');
  const all: Found[] = JSON.parse(out).findings;
  const people = await runQuayside(['doctor', ...words], variables);
  assert.is(people.code, code);
  return { code, all, bad: all.filter(({ severity }) => severity !== 'ok'), text: people.out };
}

/** Asserts that exactly one thing is wrong. */
async function assertOnly(severity: string, area: string, text: RegExp | string, next: RegExp | string): Promise<void> {
  const { code, bad, text: shown } = await examine();
  have(bad, [{ severity, area }], shown);
  assert.is(code, severity === 'error' ? 2 : 1);
  assert.match(bad[0]?.text ?? '', text);
  assert.match(bad[0]?.next ?? '', next);
}

test('a whole installation has nothing wrong, and every part is named', async () => {
  const { code, all, bad, text } = await examine();
  assert.equal({ code, bad }, { code: 0, bad: [] }, text);
  const areas = [
    ...['version', 'configuration', 'database', 'ledger', 'server', 'signer', 'node', 'the networks', 'payouts'],
    ...['the address pools', 'the exchange rates', 'webhooks', 'backups and nightly work'],
    'the disk',
    'stores and refunds that wait for a decision',
  ];
  assert.equal([...new Set(all.map(({ area }) => area))].sort(), areas.sort());
  assert.match(text, `of chain ${SANDBOX_CHAIN_ID}, with USDT and USDC, `);
  assert.match(text, 'nothing is wrong');
});

test('settings that are wrong, and a secret key that others can read', async () => {
  write({ port: 'x' });
  const wrong = await examine();
  assert.equal({ code: wrong.code, bad: wrong.bad.map(({ area }) => area) }, { code: 2, bad: ['configuration'] });
  assert.match(wrong.bad[0]?.text ?? '', 'port');
  write();
  chmodSync(join(data, 'secret.key'), 0o644);
  await assertOnly('error', 'database', /secret\.key.*chmod 600/, '');
  chmodSync(join(data, 'secret.key'), 0o600);
});

test('a node of another chain, an old one, and one that does not answer', async () => {
  write({}, { chain_id: '5' });
  await assertOnly('error', 'node', `expected a node of chain 5, found chain ${SANDBOX_CHAIN_ID}`, 'docs/networks.md');
  write({}, { witness_url: 'http://127.0.0.1:9' });
  await assertOnly('error', 'node', 'test:ethereum: 127.0.0.1:9', 'docs/networks.md');
  write();
  await node.stop();
  await assertOnly('error', 'node', 'test:ethereum: 127.0.0.1', 'docs/networks.md');
  assert.equal((await examine('--without-nodes')).bad, []);
  await node.start();
});

test('what a watch finds is found at once, with its command; so is a server or a signer that does not run', async () => {
  write({ alarms: { disk_free_bytes_min: 1_000_000_000_000_000 } });
  await assertOnly('warning', 'the disk', 'disk_filling: ', '');
  write();
  Object.assign(sources[0] ?? {}, { source: 'kraken', fresh: false });
  await assertOnly('warning', 'the exchange rates', 'rates_stale: no source of rates is fresh', '');
  Object.assign(sources[0] ?? {}, { source: 'static', fresh: true });
  const nowMs = systemClock.nowMs();
  const frozen = { network: followed.key, code: 'operator', reason: 'a test', frozenBy: 'alice', sinceMs: nowMs };
  await database.holds.freeze(frozen, null);
  await assertOnly('error', 'payouts', 'payouts_frozen: money out is frozen on test:ethereum', 'payout');
  await thawAll(database, followed.key, { atMs: nowMs, operator: 'a', command: 'x', reason: 'over' });
  rmSync(join(data, 'server.json'));
  await assertOnly('error', 'server', 'the server is not running', 'npm start');
  writeServerFile(data, serverFile);
  write({ signer: { dir: 'signer', unlock: 'external' } });
  await assertOnly('error', 'signer', 'Check that it runs and is unlocked', 'log');
  write();
});

test('a backup that cannot be made tonight, or was never made', async () => {
  const passphrase = join(folder, 'passphrase');
  const backup = { nightly: '03:30', folder: 'backups', passphrase_path: passphrase };
  write({ backup });
  await assertOnly('error', 'backups', 'belong to the user that runs Quayside', '');
  writeFileSync(passphrase, 'correct horse battery', { mode: 0o600 });
  await assertOnly('warning', 'backups', 'none was made and proved yet', 'quayside backup');
  write();
});

test('a ledger that does not add up, and a file that is damaged, are found in a copy', async () => {
  await (await bench.order('1a')).pay(10_000_000n);
  const raw = new Sqlite(join(data, 'quayside.db'));
  raw.pragma('wal_checkpoint(TRUNCATE)');
  const other = mkdtempSync(join(folder, 'copy-'));
  const copy = join(other, 'quayside.db');
  copyFileSync(join(data, 'quayside.db'), copy);
  copyFileSync(join(data, 'secret.key'), join(other, 'secret.key'));
  raw.close();
  const edited = new Sqlite(copy);
  const words = ['doctor', '--without-nodes', '--json'];
  const errors = async () => {
    const broken = await runQuayside(words, { ...variables, QUAYSIDE_DATA_DIR: other });
    assert.is(broken.code, 2);
    const found: Found[] = JSON.parse(broken.out).findings;
    return found.flatMap(({ severity, text }) => (severity === 'error' ? [text] : [])).join('\n');
  };
  edited.exec(`UPDATE ledger_postings SET units = '1' WHERE account = 'collected'`);
  assert.match(await errors(), /does not add up: unbalanced: .*USDT by/);
  edited.pragma('foreign_keys = OFF');
  edited.exec('UPDATE transfers SET address_id = 4711');
  edited.pragma('wal_checkpoint(TRUNCATE)');
  edited.close();
  assert.match(await errors(), /transfers \d+ names no row of addresses/);
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
