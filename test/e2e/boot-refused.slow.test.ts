/**
 * Starts that cannot succeed: each says why, and what to do. A signer that cannot start stops no payments, and what
 * makes it easier to take money from a live one is said.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { migrate } from '../../src/database/engine/migrate.ts';
import { createJournal } from '../../src/signer/journal.ts';
import { endAll } from '../support/processes.ts';
import { find, runProgram, sandboxInstallation, spawnSupervisor } from '../support/quayside-process.ts';
import { makeSignerFolder, passphrase } from '../support/temp-signer.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-boot-refused-'));

const signerFolder = makeSignerFolder();

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
  signerFolder.remove();
});

/** Inserts a row with these values, and 0 in the other columns that need one. */
function insertRow(client: Sqlite.Database, table: string, values: Readonly<Record<string, string | number>>): void {
  const columns = client.pragma(`table_info(${table})`) as readonly Readonly<{ name: string; notnull: number }>[];
  const names = columns.filter(({ name, notnull }) => name in values || notnull).map(({ name }) => name);
  const row = names.map((name) => values[name] ?? 0);
  client.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`).run(...row);
}

test('the demo says what to do if nothing runs', async () => {
  const { code, stderr } = await runProgram(['scripts/demo.ts'], { QUAYSIDE_DATA_DIR: join(folder, 'nobody') });
  assert.is(code, 1);
  assert.match(stderr, /run `npm start` in another terminal first/);
});

test('a port in use ends the start before anything is made, with what to set', async () => {
  // A failure below must not keep this process from ending.
  const other = createServer().unref();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const ports = { QUAYSIDE_PORT: '0', QUAYSIDE_METRICS_PORT: String(port) };
  const supervisor = spawnSupervisor({ QUAYSIDE_DATA_DIR: join(folder, 'crowded'), ...ports });
  assert.is(await supervisor.ended, 2);
  assert.match(supervisor.stderr(), new RegExp(`^quayside: port ${port} is in use .*QUAYSIDE_METRICS_PORT`, 'm'));
  assert.not.ok(existsSync(join(folder, 'crowded/quayside.db')));
  other.close();
});

test('a file of the sandbox that cannot be read ends the start, with the remedy', async () => {
  const dataDir = join(folder, 'torn');
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, 'sandbox.json'), '{"xpub":');
  const supervisor = spawnSupervisor({ QUAYSIDE_DATA_DIR: dataDir, QUAYSIDE_PORT: '0' });
  assert.is(await supervisor.ended, 2);
  assert.match(supervisor.stderr(), /cannot read .*sandbox\.json: delete it/);
});

test('the sandbox does not start beside live addresses, keys in use or networks, or a signer of live networks', async () => {
  const dataDir = join(folder, 'live-parts');
  const [file, signer] = [join(dataDir, 'quayside.db'), join(dataDir, 'signer')];
  mkdirSync(signer, { recursive: true });
  migrate({ file, backupDir: join(dataDir, 'backups') });
  createJournal(join(signer, 'signer.db'), 'a fingerprint');
  const begin = async () => {
    const supervisor = spawnSupervisor({ QUAYSIDE_DATA_DIR: dataDir, QUAYSIDE_PORT: '0' });
    return [
      await supervisor.ended,
      /has the data of live networks, but only simulated .* Set QUAYSIDE_CONFIG/.test(supervisor.stderr()),
    ];
  };
  const journal = join(signer, 'signer.db');
  const parts = [
    [file, 'pools', { mode: 'live' }],
    [file, 'keys', { mode: 'live', last_used_at_ms: 2 }],
    [file, 'networks', { key: 'live:tron', number: 1, state: 'following' }],
    [journal, 'intents', { network: 'live:tron', intent: '{}' }],
  ] as const;
  for (const [path, table, values] of parts) {
    const client = new Sqlite(path);
    client.pragma('foreign_keys = OFF');
    insertRow(client, table, values);
    assert.equal(await begin(), [2, true], table);
    if (path === file) client.exec(`DELETE FROM ${table}`);
    client.close();
  }
  rmSync(join(signer, 'signer.db'));
  writeFileSync(join(signer, 'policy.json'), JSON.stringify({ networks: { 'live:tron': {} } }));
  assert.equal(await begin(), [2, true], 'policy');
  assert.not.ok(existsSync(join(dataDir, 'secret.key')));
});

test('a server that cannot start again ends everything, also while something waits for the night', async () => {
  const dataDir = join(folder, 'broken');
  const supervisor = await sandboxInstallation(dataDir, {}, ['ethereum']).start();
  writeFileSync(join(dataDir, 'secret.key'), 'short');
  process.kill(JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')).pid, 'SIGKILL');
  assert.is(await supervisor.ended, 2);
  assert.match(supervisor.stderr(), /^quayside: .*secret\.key must hold 64 hex digits/m);
});

test('a signer that cannot be unlocked stays halted, and everything else runs', async () => {
  const wrong = join(folder, 'passphrase');
  writeFileSync(wrong, 'not this one', { mode: 0o600 });
  const config = join(folder, 'config.json');
  const dataDir = join(folder, 'halted');
  const signer = { dir: signerFolder.dir, unlock: { file: wrong } };
  writeFileSync(config, JSON.stringify({ port: 0, data_dir: dataDir, signer, networks: { 'sandbox-ethereum': {} } }));
  const supervisor = spawnSupervisor({ QUAYSIDE_CONFIG: config });
  await find('the operator reads of it', async () => supervisor.stdout().includes('The signer is halted'));
  assert.match(supervisor.stderr(), '"passphrase_wrong"');
  await find('payments are taken', async () => {
    const running = readServerFile(dataDir);
    return running && (await fetch(`${running.base_url}/readyz`)).ok;
  });
  assert.is(await supervisor.end('SIGTERM'), 0);
});

test('a live installation is warned at its start; its metrics stay on this machine, whatever the API listens on', async () => {
  const passphraseFile = join(folder, 'right');
  writeFileSync(passphraseFile, passphrase, { mode: 0o600 });
  const config = join(folder, 'live.json');
  const dataDir = join(folder, 'live');
  const signer = { dir: signerFolder.dir, unlock: { file: passphraseFile } };
  const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
  const networks = { ethereum: { url: 'ws://127.0.0.1:1', xpub } };
  // Another address of this machine, in the place of one that others reach.
  const host = '127.0.0.2';
  writeFileSync(config, JSON.stringify({ port: 0, metrics_port: 0, host, data_dir: dataDir, signer, networks }));
  const supervisor = spawnSupervisor({ QUAYSIDE_CONFIG: config });
  const running = await find('the server runs', async () => readServerFile(dataDir));
  const { hostname, port } = new URL(running.metrics_url);
  assert.is(hostname, '127.0.0.1');
  assert.is((await fetch(`http://${host}:${running.port}/livez`)).status, 200);
  assert.is((await fetch(`http://${hostname}:${port}/metrics`)).status, 200);
  const beyond = await fetch(`http://${host}:${port}/metrics`).then(() => 'answered', String);
  assert.match(beyond, 'fetch failed');
  for (const code of ['signer_same_user', 'no_second_node']) {
    await find(`a warning of ${code}`, async () => supervisor.stderr().includes(`"code":"${code}"`));
  }
  assert.is(await supervisor.end('SIGTERM'), 0);
});

test.run();
