/**
 * An upgrade that is killed at any moment, or meets a full disk: the database opens again with all its rows, and the
 * next try ends like one that nobody interrupted.
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { migrate } from '../../../src/database/engine/migrate.ts';
import { installationFolder } from '../../../src/lib/installation.ts';
import { createRandom } from '../../../src/sandbox/random.ts';
import { loaderOptions, ownProgram } from '../../support/own-program.ts';

const migrating = ownProgram(new URL('./migrating-program.ts', import.meta.url));
const MIB = 2 ** 20;
/** The versions of the schema before and after the upgrade. */
const [OLD, NEW] = [0, 3];
const SESSIONS = 4_000;
/** Upgrades to be interrupted, and the most that are tried. */
const [KILLS, ROUNDS_MAX] = [10, 40];

const folder = mkdtempSync(join(tmpdir(), 'quayside-interrupted-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const older = join(folder, 'older.db');
const upgraded = join(folder, 'upgraded.db');
const directory = join(folder, 'newer');
makeOlder();
makeMigrations();
copyFileSync(older, upgraded);
migrate({ file: upgraded, backupDir: null, directory });
const expected = contentOf(upgraded);
const before = contentOf(older);

/** Makes a folder of migrations, which build a table again, add a column to all of its rows and an index. */
function makeMigrations(): void {
  mkdirSync(directory);
  copyFileSync(join(installationFolder, 'src/database/schema.sql'), join(directory, 'schema.sql'));
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  write(
    '0001_again.sql',
    `CREATE TABLE copy (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, body TEXT NOT NULL) STRICT;
     INSERT INTO copy SELECT id, session_id, body FROM events;
     DROP TABLE events;
     ALTER TABLE copy RENAME TO events;`,
  );
  write(
    '0002_words.sql',
    `ALTER TABLE sessions ADD COLUMN words TEXT; UPDATE sessions SET words = order_id || body_hash;`,
  );
  write('0003_found.sql', 'CREATE INDEX sessions_by_words ON sessions (words);');
}

/** Makes a database with sessions that were paid. */
function makeOlder(): void {
  migrate({ file: older, backupDir: null });
  const client = new Sqlite(older);
  client.exec(`
    CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SESSIONS}) SELECT i FROM n;
    INSERT INTO networks (key, number, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
      VALUES ('test:one', 1, 'following', 'h', 1, 5000, 0, 5000, 5000000);
    INSERT INTO stores (id, name, status, settings, refund_policy, page, zone, next_receipt_number, created_at_ms, live_secret, test_secret)
      VALUES ('m1', 'Shop', 'approved', '{}', '{}', '{}', 'UTC', 1, 0, '', '');
    INSERT INTO pools (id, family, mode, source, current, next_index) VALUES (1, 'evm', 'test', 'xpub', 1, ${SESSIONS});
    INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, terms, networks, created_at_ms, status,
        ended_at_s, paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s, sums, payment_count,
        before_numbers, takes_any_token)
      SELECT 'cs_' || i, 'm1', 'test', 'o' || i, hex(randomblob(32)), '1000', 'USD', '{}', '["test:one"]', 4900000, 'paid', 5000, 5000, 0, 'full', 'confirmed', 1, 0, '0',
        '10000000000000000000', '0', NULL, '[]', 1, '{}', 0 FROM n;
    INSERT INTO addresses (id, seq, pool_id, family, mode, key, derivation_index, state, session_id, mac)
      SELECT i, i, 1, 'evm', 'test', hex(randomblob(20)), i, 'taken', 'cs_' || i, 'v1.' || hex(randomblob(16)) FROM n;
    INSERT INTO replays SELECT 'm1 test /create', 'idem' || i, 'b', 'cs_' || i, 4900000 FROM n;
    INSERT INTO events (id, store_id, session_id, type, body, created_at_ms, mode)
      SELECT 'evt_' || i, 'm1', 'cs_' || i, 'payment.completed', hex(randomblob(200)), 5000000, 'test' FROM n;
    INSERT INTO ledger_entries (network, seq, kind, cause, occurrence, at_ms, store_id, mode)
      SELECT 'test:one', i, 'payment', CAST(i AS TEXT), 0, 5000000, 'm1', 'test' FROM n;
    DROP TABLE n;
    PRAGMA wal_checkpoint(TRUNCATE);`);
  client.close();
}

/** Returns the rows of each table, without when a migration was applied; and that the file is sound. */
function contentOf(file: string): Record<string, unknown[]> {
  const client = new Sqlite(file);
  try {
    assert.equal(client.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    assert.equal(client.pragma('foreign_key_check'), []);
    const tables = client
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as string[];
    const rowsOf = (table: string) =>
      table === 'meta'
        ? client.prepare("SELECT name, value ->> '$.checksum' FROM meta WHERE name LIKE 'migration %'").all()
        : client.prepare(`SELECT * FROM "${table}"`).all();
    return Object.fromEntries(tables.map((table) => [table, rowsOf(table)]));
  } finally {
    client.close();
  }
}

const versionOf = (file: string): number => {
  const client = new Sqlite(file);
  const version = Number(client.pragma('user_version', { simple: true }));
  client.close();
  return version;
};

/** Runs the upgrade in a process of its own, which is killed some ms after it has printed so many lines. */
function runUntil(file: string, backupDir: string, lines: number, laterMs: number): Promise<string[]> {
  const child = spawn(process.execPath, [...loaderOptions, migrating, file, backupDir, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  const printed = () => said.split('\n').slice(0, -1);
  const look = () => {
    if (printed().length >= lines) setTimeout(() => child.kill('SIGKILL'), laterMs);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk;
    look();
  });
  if (lines === 0) child.once('spawn', look);
  return new Promise((done) => child.once('close', () => done(printed())));
}

test('a process that is killed in the middle of an upgrade leaves the database whole, and the next one ends it', async () => {
  const seed = process.env.SEED ?? String(Date.now() % 1_000_000);
  const random = createRandom('interrupted upgrade', seed);
  const replay = `SEED=${seed} npx tsx test/database/engine/interrupted-upgrade.slow.test.ts`;
  // How long after the first line, or after the start, the process may live. An upgrade that was faster is killed
  // earlier the next time, so that each machine and each Node is interrupted as often.
  const range = { afterCopy: 60, afterStart: 600 };
  let interrupted = 0;
  for (let round = 0; interrupted < KILLS; round++) {
    assert.ok(round < ROUNDS_MAX, `${replay}: only ${interrupted} of ${round} upgrades were interrupted`);
    const file = join(folder, `killed-${round}.db`);
    const backupDir = join(folder, `killed-${round}`);
    copyFileSync(older, file);
    // The first line is written once the copy is made. Every third process is killed at any time since its start.
    const from = round % 3 === 2 ? 'afterStart' : 'afterCopy';
    const lines = from === 'afterCopy' ? 1 : 0;
    const laterMs = random.int(range[from]);
    const said = await runUntil(file, backupDir, lines, laterMs);
    const version = versionOf(file);
    const what = `${replay}: round ${round}, killed after ${said.join(', ')} at schema ${version}`;
    assert.equal(contentOf(file), version === OLD ? before : expected, what);
    if (!said.includes('done')) interrupted++;
    else range[from] = Math.max(1, Math.floor(range[from] / 2));
    const rest = await runUntil(file, backupDir, Number.POSITIVE_INFINITY, 0);
    assert.is(rest.at(-1), 'done', what);
    assert.equal(contentOf(file), expected, what);
    const copies = existing(backupDir);
    assert.equal(
      copies.filter((name) => name.includes('.partial')),
      [],
      what,
    );
    // What the earlier program left is there, if anything was changed at all.
    assert.ok(
      copies.some((name) => versionOf(join(backupDir, name)) === OLD),
      what,
    );
  }
});

const existing = (dir: string): string[] => {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
};

/** Runs a command in a mount namespace of its own, in which this user may mount. */
const inNamespace = (script: string, ...args: string[]) =>
  spawnSync('unshare', ['--user', '--mount', '--map-root-user', 'sh', '-c', script, 'sh', ...args], {
    encoding: 'utf8',
  });

/** Fills a small disk with the database and its upgrade; prints the version that is left, and tries again with room. */
const onSmallDisk = `
  set -e
  mount -t tmpfs -o size=$1 none "$2"; cp "$3" "$2/quayside.db"
  shift 3; at=$1; newer=$2; shift 2
  "$@" "$at/quayside.db" "$at/backups" "$newer" | tr '\\n' ' ' || true
  echo; ls -A "$at/backups" | tr '\\n' ' '; echo
  cp "$at/quayside.db" "$at"/../left.db; for side in wal shm; do [ ! -e "$at/quayside.db-$side" ] || cp "$at/quayside.db-$side" "$at/../left.db-$side"; done
  mount -o remount,size=1g "$at"
  "$@" "$at/quayside.db" "$at/backups" "$newer" | tail -1
  cp "$at/quayside.db" "$at"/../ended.db
`;

const canMount = inNamespace('mount -t tmpfs none /mnt').status === 0;

(canMount ? test : test.skip)('an upgrade on a disk that becomes full changes nothing, and goes on with room', () => {
  const size = statSync(older).size;
  const at = join(folder, 'small');
  mkdirSync(at);
  const outcomes = new Set<string>();
  // From a disk that is full at once to one on which everything fits.
  for (let room = 0.02 * size; ; room += 0.35 * size) {
    for (const name of ['left', 'ended'])
      for (const side of ['', '-wal', '-shm']) rmSync(join(folder, `${name}.db${side}`), { force: true });
    const ran = inNamespace(
      onSmallDisk,
      String(Math.ceil(size + room)),
      at,
      older,
      at,
      directory,
      process.execPath,
      ...loaderOptions,
      migrating,
    );
    assert.is(ran.status, 0, ran.stderr);
    const [first = '', copies = '', last = ''] = ran.stdout.split('\n').map((line) => line.trim());
    const left = versionOf(join(folder, 'left.db'));
    const what = `${(room / MIB).toFixed(1)} MiB of room: ${ran.stdout} ${ran.stderr}`;
    assert.is(last, 'done', what);
    assert.equal(contentOf(join(folder, 'ended.db')), expected, what);
    if (first.endsWith('done')) {
      assert.is(left, NEW, what);
      break;
    }
    assert.match(first, /storage_unavailable$/, what);
    assert.is(left, OLD, what);
    assert.equal(contentOf(join(folder, 'left.db')), before, what);
    assert.is(copies, '', `a copy that nobody needs takes no room: ${what}`);
    outcomes.add(first.includes('copied') ? 'migration' : 'copy');
  }
  assert.equal([...outcomes].sort(), ['copy', 'migration']);
});

test.run();
