/** Migrations: each applied once, whole, after a backup. */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { is, sql } from 'drizzle-orm';
import { getTableConfig, SQLiteSyncDialect, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as auditLog from '../../../src/database/sqlite/audit-log.ts';
import { refuseOldSqlite } from '../../../src/database/sqlite/connection.ts';
import { currentVersion, migrate } from '../../../src/database/sqlite/migrate.ts';
import * as noticesSchema from '../../../src/database/sqlite/notices/schema.ts';
import * as operationsSchema from '../../../src/database/sqlite/operations/schema.ts';
import * as paymentNotes from '../../../src/database/sqlite/payment-notes.ts';
import * as moneyOutSchema from '../../../src/database/sqlite/payouts/schema.ts';
import * as peopleSchema from '../../../src/database/sqlite/people/schema.ts';
import * as proofs from '../../../src/database/sqlite/proofs.ts';
import * as refundSchema from '../../../src/database/sqlite/refunds/schema.ts';
import * as requestLog from '../../../src/database/sqlite/request-log.ts';
import * as retentionSchema from '../../../src/database/sqlite/retention/schema.ts';
import * as schema from '../../../src/database/sqlite/schema.ts';
import { openSqliteDatabase } from '../../../src/database/sqlite/sqlite-database.ts';
import * as totalsSchema from '../../../src/database/sqlite/totals-schema.ts';
import { built } from '../../support/built.ts';
import { secretKeysOf } from '../../support/secret-keys.ts';

type Folder = Readonly<{ file: string; backupDir: string; directory: string; write(name: string, text: string): void }>;

/** Runs a test in its own folder, with an empty folder for migrations. */
const inFolder = (work: (folder: Folder) => void | Promise<void>) => async () => {
  const root = mkdtempSync(join(tmpdir(), 'quayside-migrate-'));
  const directory = join(root, 'migrations');
  mkdirSync(directory);
  try {
    await work({
      file: join(root, 'quayside.db'),
      backupDir: join(root, 'backups'),
      directory,
      write: (name, text) => writeFileSync(join(directory, name), text),
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

/** Reads or writes the file with plain SQL. */
function raw<T>(file: string, work: (client: Sqlite.Database) => T): T {
  const client = new Sqlite(file);
  try {
    return work(client);
  } finally {
    client.close();
  }
}

const refuses = (work: () => unknown, code: string, words: RegExp) =>
  assert.throws(
    work,
    (error: { code?: string; kind?: string; message: string }) =>
      error.code === code && error.kind === 'permanent' && words.test(error.message),
  );

const open = (file: string) =>
  openSqliteDatabase({
    file,
    secretKeys: secretKeysOf(new Uint8Array(32)),
    busyTimeoutMs: 1000,
    bytesMax: null,
    outageWaitS: 600,
  });

test(
  'a new file is readable by its owner only, gets the current schema, and is left alone the next time',
  inFolder(({ file, backupDir }) => {
    assert.is(migrate({ file, backupDir }).length, currentVersion());
    assert.is(statSync(file).mode & 0o777, 0o600);
    assert.equal(migrate({ file, backupDir }), []);
    assert.throws(() => readdirSync(backupDir), /ENOENT/, 'nothing to back up');
    open(file).close();
  }),
);

test(
  'a file that holds data is copied once, before the first missing migration, and never over an older copy',
  inFolder(({ file, backupDir, directory, write }) => {
    write('0001_first.sql', 'CREATE TABLE things (name TEXT NOT NULL) STRICT;');
    migrate({ file, backupDir, directory });
    raw(file, (client) => client.exec("INSERT INTO things VALUES ('kept')"));
    write('0002_second.sql', 'ALTER TABLE things ADD COLUMN size INTEGER;');
    write('0003_third.sql', 'UPDATE things SET size = 3;');
    const older = join(backupDir, 'quayside-before-0002_second.db');
    mkdirSync(backupDir);
    writeFileSync(older, 'an older copy');
    assert.equal(migrate({ file, backupDir, directory }), ['0002_second.sql', '0003_third.sql']);
    const copy = join(backupDir, 'quayside-before-0002_second-2.db');
    assert.equal(
      readdirSync(backupDir)
        .sort()
        .map((name) => join(backupDir, name)),
      [copy, older],
    );
    assert.is(statSync(older).size, 'an older copy'.length);
    assert.is(statSync(copy).mode & 0o777, 0o600);
    raw(copy, (client) => {
      assert.equal(client.prepare('SELECT * FROM things').all(), [{ name: 'kept' }]);
      assert.is(client.pragma('user_version', { simple: true }), 1);
    });
    raw(file, (client) => assert.equal(client.prepare('SELECT * FROM things').all(), [{ name: 'kept', size: 3 }]));
    // A copy is a whole database: in place of the file, it is migrated in the same way, here without one more copy.
    copyFileSync(copy, file);
    assert.is(migrate({ file, backupDir: null, directory }).length, 2);
    assert.is(readdirSync(backupDir).length, 2);
  }),
);

test(
  'a database whose copy is not sound is not migrated, and the copy is removed',
  inFolder(({ file, backupDir, directory, write }) => {
    write('0001_first.sql', 'CREATE TABLE things (size INTEGER) STRICT;');
    migrate({ file, backupDir, directory });
    raw(file, (client) => {
      client.exec('INSERT INTO things VALUES (NULL)');
      client.unsafeMode(true);
      client.pragma('writable_schema = ON');
      client.exec("UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'INTEGER NOT NULL') WHERE name = 'things'");
    });
    write('0002_second.sql', 'ALTER TABLE things ADD COLUMN name TEXT;');
    refuses(() => migrate({ file, backupDir, directory }), 'copy_damaged', /NULL value in things.size/);
    assert.equal(readdirSync(backupDir), []);
    raw(file, (client) => assert.is(client.pragma('user_version', { simple: true }), 1));
  }),
);

test(
  'of a failed upgrade, the copy stays only if a migration before the failed one was applied',
  inFolder(({ file, backupDir, directory, write }) => {
    write('0001_first.sql', 'CREATE TABLE things (name TEXT NOT NULL) STRICT;');
    migrate({ file, backupDir, directory });
    write('0002_second.sql', 'CREATE NONSENSE;');
    for (let tries = 0; tries < 3; tries++) {
      refuses(() => migrate({ file, backupDir, directory }), 'migration_failed', /0002_second/);
      assert.equal(readdirSync(backupDir), []);
    }
    write('0002_second.sql', 'ALTER TABLE things ADD COLUMN size INTEGER;');
    write('0003_third.sql', 'CREATE NONSENSE;');
    for (let tries = 0; tries < 3; tries++) {
      refuses(() => migrate({ file, backupDir, directory }), 'migration_failed', /0003_third/);
      assert.equal(readdirSync(backupDir), ['quayside-before-0002_second.db']);
    }
    raw(join(backupDir, 'quayside-before-0002_second.db'), (client) =>
      assert.is(client.pragma('user_version', { simple: true }), 1),
    );
  }),
);

test(
  'a failed migration leaves the file unchanged, and says so',
  inFolder(({ file, backupDir, directory, write }) => {
    write(
      '0001_first.sql',
      'CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT; CREATE TABLE b (a INTEGER REFERENCES a (id)) STRICT;',
    );
    migrate({ file, backupDir, directory });
    raw(file, (client) => client.exec('INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)'));
    const broken: [string, RegExp][] = [
      ['CREATE TABLE c (id INTEGER) STRICT; CREATE NONSENSE;', /0002_second\.sql failed .* unchanged: .*NONSENSE/],
      ['DELETE FROM a;', /1 rows that refer to nothing/],
      ['INSERT INTO a VALUES (1);', /UNIQUE/],
    ];
    for (const [text, words] of broken) {
      write('0002_second.sql', text);
      refuses(() => migrate({ file, backupDir, directory }), 'migration_failed', words);
      raw(file, (client) => {
        assert.is(client.pragma('user_version', { simple: true }), 1);
        assert.is(client.prepare('SELECT count(*) FROM a JOIN b ON b.a = a.id').pluck().get(), 1);
        assert.is(client.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'c'").pluck().get(), 0);
      });
    }
  }),
);

test(
  'a file of a newer program, with altered history, or of another program is refused',
  inFolder(({ file, backupDir, directory, write }) => {
    write('0001_first.sql', 'CREATE TABLE a (id INTEGER) STRICT;');
    migrate({ file, backupDir, directory });
    write('0001_first.sql', 'CREATE TABLE a (id INTEGER, more TEXT) STRICT;');
    refuses(() => migrate({ file, backupDir, directory }), 'migration_altered', /0001_first\.sql/);
    write('0001_first.sql', 'CREATE TABLE a (id INTEGER) STRICT;');
    raw(file, (client) => client.pragma('user_version = 2'));
    refuses(() => migrate({ file, backupDir, directory }), 'database_newer', /schema 2.* knows 1/);
    rmSync(file);
    raw(file, (client) => client.exec('CREATE TABLE theirs (id INTEGER)'));
    refuses(() => migrate({ file, backupDir, directory }), 'database_foreign', /another program/);
    const nowhere = join(directory, 'no', 'such', 'folder', 'quayside.db');
    assert.throws(
      () => migrate({ file: nowhere, backupDir, directory }),
      (error: { code?: string; message: string }) =>
        error.code === 'storage_unavailable' && /ENOENT/.test(error.message),
    );
    rmSync(file);
    write('0003_third.sql', '');
    refuses(() => migrate({ file, backupDir, directory }), 'migration_missing', /2 is missing/);
  }),
);

test(
  'the database is not opened with an older or newer schema, or without a file',
  inFolder(({ file, backupDir }) => {
    assert.throws(
      () => open(file),
      (error: { code?: string }) => error.code === 'storage_unavailable',
    );
    migrate({ file, backupDir });
    raw(file, (client) => client.pragma('user_version = 0'));
    refuses(() => open(file), 'schema_not_current', /has schema 0.*npm start/);
    raw(file, (client) => client.pragma('user_version = 99'));
    refuses(() => open(file), 'schema_not_current', /has schema 99.*newer program/);
  }),
);

test(
  'processes that start at the same time migrate once',
  inFolder(async ({ file, backupDir }) => {
    const program = `
      import { migrate } from ${JSON.stringify(built('src/database/sqlite/migrate.ts'))};
      process.stdout.write(JSON.stringify(migrate(${JSON.stringify({ file, backupDir })})));`;
    const runs = Array.from({ length: 3 }, () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      child.stderr.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      return new Promise<string>((resolve) => child.on('close', () => resolve(output)));
    });
    // They may take turns; each migration is applied by one of them.
    const applied = (await Promise.all(runs)).flatMap((output) => JSON.parse(output) as string[]);
    assert.equal(
      applied.sort(),
      raw(file, (client) => client.prepare('SELECT name FROM migrations ORDER BY version').pluck().all()),
    );
    assert.is(applied.length, currentVersion());
    open(file).close();
  }),
);

test(
  'the audit log keeps its entries: none is changed or deleted',
  inFolder(({ file, backupDir }) => {
    migrate({ file, backupDir });
    raw(file, (client) => {
      client.exec("INSERT INTO audit_log (at_ms, operator, command, target) VALUES (1, 'alice', 'key revoke', 'k1')");
      for (const change of ['DELETE FROM audit_log', "UPDATE audit_log SET operator = 'bob'"]) {
        assert.throws(() => client.exec(change), /append-only/);
      }
      assert.is(client.prepare('SELECT operator FROM audit_log').pluck().get(), 'alice');
    });
  }),
);

test(
  'the query builder’s tables equal those of the migrations, column by column',
  inFolder(({ file, backupDir }) => {
    migrate({ file, backupDir });
    const dialect = new SQLiteSyncDialect({ casing: 'snake_case' });
    const described = new Map<string, string[]>();
    for (const table of Object.values({
      ...schema,
      ...totalsSchema,
      ...refundSchema,
      ...retentionSchema,
      ...requestLog,
      ...auditLog,
      ...paymentNotes,
      ...proofs,
      ...moneyOutSchema,
      ...peopleSchema,
      ...noticesSchema,
      ...operationsSchema,
    })) {
      if (!is(table, SQLiteTable)) continue;
      const { name, columns } = getTableConfig(table);
      described.set(
        name,
        columns.map((column) => {
          const shown = dialect.sqlToQuery(sql`${column}`).sql.split('.').at(-1)?.replaceAll('"', '');
          return `${shown} ${column.getSQLType().toUpperCase()}${column.notNull || column.primary ? ' NOT NULL' : ''}`;
        }),
      );
    }
    raw(file, (client) => {
      const names = client
        .prepare(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'migrations'",
        )
        .pluck()
        .all() as string[];
      assert.equal([...described.keys()].sort(), names.sort());
      for (const name of names) {
        const rows = client.pragma(`table_xinfo(${name})`) as {
          name: string;
          type: string;
          notnull: number;
          pk: number;
        }[];
        assert.equal(
          [...(described.get(name) ?? [])].sort(),
          rows.map((row) => `${row.name} ${row.type}${row.notnull || row.pk ? ' NOT NULL' : ''}`).sort(),
          name,
        );
      }
      const tables = client.pragma('table_list') as { name: string; strict: number; type: string }[];
      const loose = tables.filter(
        ({ strict, type, name }) => type === 'table' && !strict && !name.startsWith('sqlite_'),
      );
      assert.equal(loose, [], 'every table is STRICT');
    });
  }),
);

test('SQLite with the WAL-reset bug is refused', () => {
  for (const version of ['3.7.0', '3.51.2', '3.50.9', '2.99.99']) {
    refuses(() => refuseOldSqlite(version), 'sqlite_too_old', /3\.51\.3/);
  }
  for (const version of ['3.51.3', '3.51.10', '3.53.2', '4.0.0']) refuseOldSqlite(version);
});

test.run();
