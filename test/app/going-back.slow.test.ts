/**
 * An upgrade with real programs: this one is the earlier version, and a copy of it with one more migration the newer.
 */
import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addressMarksFile, openAddressMarks } from '../../src/app/address-marks.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { retireGivenAddresses } from '../../src/app/retire-given.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import { currentVersion } from '../../src/database/sqlite/migrate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { copyInstallation } from '../support/installation-copy.ts';
import { newSession } from '../support/new-session.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-upgrade-'));
const newer = copyInstallation();
test.after(() => {
  for (const one of [folder, newer]) rmSync(one, { recursive: true, force: true });
});
const schema = currentVersion();
const next = String(schema + 1).padStart(4, '0');
writeFileSync(
  join(newer, 'dist/src/database', `${next}_more.sql`),
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

const [network] = config.networks;
invariant(network, 'there is a network');

function addressMarks(work: (marks: ReturnType<typeof openAddressMarks>) => void): void {
  const marks = openAddressMarks(addressMarksFile(config.dataDir));
  work(marks);
  marks.close();
}

function readSchemaVersion(): number {
  const client = new Sqlite(file, { readonly: true });
  const version = client.pragma('user_version', { simple: true });
  client.close();
  return Number(version);
}

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

const keys = Array.from({ length: 9 }, (_, n) => (n + 1).toString(16).padStart(40, '0'));

async function addAddresses(database: ReturnType<typeof openDatabase>): Promise<void> {
  await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
}

async function order(database: ReturnType<typeof openDatabase>, name: string) {
  const [store] = await database.stores.list();
  invariant(store && network, 'there is a store');
  const wish = { storeId: store.id, name, networks: [network], amountMinor: 1000, nowMs: systemClock.nowMs() };
  const outcome = await database.sessions.create(newSession(wish));
  invariant(outcome.kind === 'created', `not ${outcome.kind}`);
  return outcome.session;
}

test('a newer version migrates after a copy, and the earlier one starts on that copy as docs/operate.md says', async () => {
  assert.is((await tool(installationFolder, 'store', 'add', 'Shop')).code, 0);
  await opened(addAddresses);
  const copy = join(config.dataDir, 'backups', `quayside-before-${next}_more.db`);
  assert.not.ok(existsSync(copy));
  const { code, out } = await start(newer);
  assert.is(code, 0, out);
  assert.is(readSchemaVersion(), schema + 1);
  assert.match(out, copy);
  const refused = await start(installationFolder);
  assert.is(refused.code, 2, refused.out);
  assert.match(refused.out, /Start the newer program, or restore the backup/);
  // The newer version gives an address to a customer, of which the copy knows nothing.
  addressMarks((marks) => marks.cover([{ family: 'evm', mode: 'test', source: 'test', index: 0 }]));

  const aside = join(config.dataDir, 'newer');
  mkdirSync(aside);
  for (const name of readdirSync(config.dataDir).filter((one) => one.startsWith('quayside.db')))
    renameSync(join(config.dataDir, name), join(aside, name));
  cpSync(copy, file);
  const frozen = await tool(installationFolder, 'payout', 'freeze', '--reason', 'went back');
  assert.is(frozen.code, 0, frozen.out);
  const back = await start(installationFolder);
  assert.is(back.code, 0, back.out);
  assert.is(readSchemaVersion(), schema);
  await opened(async (database) => {
    assert.is((await database.listFreezes()).length, 1);
    await addAddresses(database);
    const feed = chain(database);
    await feed.mine();
    await feed.report('following');
    const session = await order(database, '1');
    const to = session.addresses.evm ?? '';
    assert.ok(to !== '' && to !== keys[0], 'the address of the lost session is not given again');
    await feed.confirm(await feed.mine([{ to, currency: 'USDT', units: 10_000_000n }]));
    assert.is((await database.sessions.find(session.id))?.life.status, 'paid');
    await feed.mine([{ to: keys[0] ?? '', currency: 'USDT', units: 10_000_000n }]);
    assert.ok((await database.alarms.list(9)).some(({ code: what }) => what === 'payment_without_session'));
  });
});

test.run();
