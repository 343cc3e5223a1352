/**
 * Starts that cannot succeed: each says why, and what to do.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { migrate } from '../../src/database/engine/migrate.ts';
import { createJournal } from '../../src/signer/journal.ts';
import { endAll, runProgram, sandboxInstallation, spawnSupervisor } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-boot-refused-'));

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
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

test('a port in use ends the start, with what to set', async () => {
  // What fails below must not keep this process from ending.
  const other = createServer().unref();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const supervisor = spawnSupervisor({ QUAYSIDE_DATA_DIR: join(folder, 'crowded'), QUAYSIDE_PORT: String(port) });
  assert.is(await supervisor.ended, 2);
  assert.match(supervisor.stderr(), new RegExp(`^quayside: port ${port} is in use .*QUAYSIDE_PORT`, 'm'));
  other.close();
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

test.run();
