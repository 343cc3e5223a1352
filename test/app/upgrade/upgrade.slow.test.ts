/**
 * An upgrade with real programs: this one is the earlier version, and a copy of it with one more migration the newer.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addressMarksFile, openAddressMarks } from '../../../src/app/address-marks.ts';
import { openDatabase } from '../../../src/app/open-database.ts';
import { retireGivenAddresses } from '../../../src/app/retire-given.ts';
import { readUpgradeRecord } from '../../../src/app/upgrade/record.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { invariant } from '../../../src/core/fault.ts';
import { currentVersion, readSchemaVersion } from '../../../src/database/sqlite/migrate.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { installationFolder } from '../../../src/lib/installation.ts';
import { openLog } from '../../../src/lib/log.ts';
import { databaseFile } from '../../../src/lib/secret-key.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { copyInstallation } from '../../support/installation-copy.ts';
import { newSession } from '../../support/new-session.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-upgrade-'));
const newer = copyInstallation();
test.after(() => {
  for (const one of [folder, newer]) rmSync(one, { recursive: true, force: true });
});
const schema = currentVersion();
const next = String(schema + 1).padStart(4, '0');
writeFileSync(
  join(newer, 'dist/src/database/sqlite/migrations', `${next}_more.sql`),
  'CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;',
);
const stamp = join(newer, 'dist/build.json');
writeFileSync(stamp, JSON.stringify({ ...JSON.parse(readFileSync(stamp, 'utf8')), contents: 'newer' }));

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub } };
writeFileSync(settings, JSON.stringify({ data_dir: 'data', port: 0, networks }));
const others = Object.entries(process.env).filter(([name]) => !name.startsWith('QUAYSIDE_'));
const env = { ...Object.fromEntries(others), QUAYSIDE_CONFIG: settings };
const config = loadConfig({ env, cwd: folder });
const file = databaseFile(config.dataDir);
const record = () => readUpgradeRecord(config.dataDir);

type Ended = Readonly<{ code: number; out: string }>;

/** Runs the operator's tool of a version. */
const tool = (version: string, ...words: readonly string[]): Promise<Ended> =>
  new Promise((done) => {
    execFile(
      process.execPath,
      [join(version, 'scripts/quayside.mjs'), ...words],
      { cwd: version, env },
      (error, out, err) => done({ code: error ? Number(error.code) : 0, out: out + err }),
    );
  });

/** Starts a version, and stops it once it says that it is there. */
function start(version: string): Promise<Ended> {
  const child = spawn(process.execPath, [join(version, 'dist/src/main.js')], { cwd: version, env });
  let [out, isStopping] = ['', false];
  const keep = (chunk: Buffer) => {
    out += chunk;
    if (isStopping || !/https?:\/\/[\w.]+:\d+/.test(out)) return;
    isStopping = true;
    child.kill('SIGTERM');
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  return new Promise((done) => child.once('exit', (code) => done({ code: code ?? -1, out })));
}

/** Lets this version open what the newer one migrated. */
function setSchema(version: number): void {
  const client = new Sqlite(file);
  if (version === schema) client.exec(`DELETE FROM migrations WHERE version = ${schema + 1}`);
  client.pragma(`user_version = ${version}`);
  client.close();
}

const [network] = config.networks;
invariant(network, 'there is a network');

/** Opens the database as a server does. */
async function opened<T>(work: (database: ReturnType<typeof openDatabase>) => Promise<T>): Promise<T> {
  const marks = openAddressMarks(addressMarksFile(config.dataDir));
  const database = openDatabase(config, env, { beforeTake: marks.cover });
  try {
    await retireGivenAddresses({ database, marks, clock: systemClock, log: openLog('test', 'silent') });
    return await work(database);
  } finally {
    database.close();
    marks.close();
  }
}

const chain = (database: ReturnType<typeof openDatabase>) => ingestedChain(() => database, systemClock, network);

async function addAddresses(database: ReturnType<typeof openDatabase>): Promise<void> {
  const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
  await database.addAddresses({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
}

async function order(database: ReturnType<typeof openDatabase>, name: string) {
  const [store] = await database.listStores();
  invariant(store && network, 'there is a store');
  const wish = { storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs: systemClock.nowMs() };
  const outcome = await database.createSession(newSession(wish));
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  return outcome.session;
}

let given = '';

test('the earlier version is remembered, and `--check` of the newer one tries everything beside it', async () => {
  assert.is((await tool(installationFolder, 'store', 'create', 'Shop')).code, 0);
  assert.is(record().program?.folder, installationFolder);
  await opened(addAddresses);
  const { code, out } = await tool(newer, 'upgrade', '--check', '--without-nodes');
  assert.is(code, 0, out);
  assert.match(out, new RegExp(`migrations: 1 \\(schema ${schema} to ${schema + 1}\\)`));
  assert.match(out, /test payment: arrived, and its webhook was verified/);
  assert.is(readSchemaVersion(file), schema);
  assert.equal(
    readdirSync(config.dataDir).filter((name) => name.startsWith('testing-')),
    [],
  );
});

test('a newer version whose test payment fails does not start, and changes nothing', async () => {
  const broken = copyInstallation();
  try {
    const other = join(broken, 'dist/build.json');
    writeFileSync(other, JSON.stringify({ ...JSON.parse(readFileSync(other, 'utf8')), contents: 'broken' }));
    writeFileSync(
      join(broken, 'dist/src/database/sqlite/migrations', `${next}_more.sql`),
      'CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;',
    );
    writeFileSync(join(broken, 'dist/scripts/demo.js'), "process.stderr.write('no payment came\\n'); process.exit(1);");
    const { code, out } = await start(broken);
    assert.is(code, 2, out);
    assert.match(out, /test payment of this version failed: no payment came\n.*Nothing was changed/);
    assert.is(readSchemaVersion(file), schema);
    assert.is(record().program?.folder, installationFolder);
  } finally {
    rmSync(broken, { recursive: true, force: true });
  }
});

test('the newer version migrates with a copy, which a rollback puts back for the earlier one', async () => {
  const { code, out } = await start(newer);
  assert.is(code, 0, out);
  assert.is(readSchemaVersion(file), schema + 1);
  const { upgrade } = record();
  assert.is(upgrade?.schema, schema);
  assert.ok(existsSync(upgrade?.copy ?? ''));
  const { code: done, out: text } = await tool(newer, 'upgrade', '--rollback');
  assert.is(done, 0, text);
  assert.match(text, new RegExp(`Start the earlier program: version .*schema ${schema}`));
  assert.is(readSchemaVersion(file), schema);
  const again = await start(newer);
  assert.is(again.code, 2, again.out);
  assert.match(again.out, /was rolled back on/);
  assert.is((await tool(newer, 'upgrade', '--rollback')).code, 1, 'there is nothing more to take back');
  await opened(async (database) => {
    assert.equal(
      (await database.listFreezes()).map(({ code: why }) => why),
      ['restored_from_backup'],
    );
  });
});

test('a rollback that would lose a session is refused; told so, it gives out no address twice, and money comes in', async () => {
  assert.is(
    (await tool(newer, 'upgrade', '--check', '--without-nodes')).code,
    0,
    'the newer version may be tried again',
  );
  assert.is((await start(newer)).code, 0);
  // The schema of the newer version only adds a table.
  const raw = readSchemaVersion(file);
  assert.is(raw, schema + 1);
  setSchema(schema);
  await opened(async (database) => {
    // The server that ran gave the pool the addresses of its xpub.
    await addAddresses(database);
    const feed = chain(database);
    await feed.mine();
    await feed.report('following');
    given = (await order(database, '1')).addresses.evm ?? '';
  });
  setSchema(schema + 1);
  const refused = await tool(newer, 'upgrade', '--rollback');
  assert.is(refused.code, 1);
  assert.match(refused.out, /there were 1 sessions.*--despite-payments/);
  const done = await tool(newer, 'upgrade', '--rollback', '--despite-payments', '--because', 'a test');
  assert.is(done.code, 0, done.out);
  await opened(async (database) => {
    await addAddresses(database);
    const feed = chain(database);
    await feed.mine();
    await feed.report('following');
    const session = await order(database, '2');
    const to = session.addresses.evm ?? '';
    assert.ok(to !== '' && to !== given, 'the address that the lost session had is not given again');
    await feed.confirm(await feed.mine([{ to, currency: 'USDT', units: 10_000_000n }]));
    assert.is((await database.findSession(session.id))?.life.status, 'paid');
    await feed.mine([{ to: given, currency: 'USDT', units: 10_000_000n }]);
    assert.ok((await database.listAlarms(9)).some(({ code }) => code === 'payment_without_session'));
  });
});

test.run();
