/** A new file is made of the schema; migrations are applied once, all or none, after a copy. */
import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { refuseOldSqlite } from '../../../src/database/engine/connection.ts';
import { migrate } from '../../../src/database/engine/migrate.ts';
import { installationFolder } from '../../../src/lib/installation.ts';
import { built } from '../../support/built.ts';
import { raw } from '../../support/raw.ts';
import { connectTo } from '../../support/temp-database.ts';
import { testsIn } from '../../support/tests-in.ts';

type Folder = Readonly<{ file: string; backupDir: string; directory: string; write(name: string, text: string): void }>;

const ownDirectory = join(installationFolder, 'src/database');
const things = 'CREATE TABLE things (name TEXT NOT NULL) STRICT;';
const metaTable = /CREATE TABLE meta [^;]+;/.exec(readFileSync(join(ownDirectory, 'schema.sql'), 'utf8'))?.[0] ?? '';

/** Runs a test in its own folder, with a folder for migrations that has a schema of one table. */
async function inFolder(work: (folder: Folder) => Promise<void>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'quayside-migrate-'));
  const directory = join(root, 'migrations');
  mkdirSync(directory);
  writeFileSync(join(directory, 'schema.sql'), metaTable + things);
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
}
const test = testsIn(inFolder);

const refuses = (work: () => unknown, code: string, words: RegExp) =>
  assert.throws(
    work,
    (error: { code?: string; kind?: string; message: string }) =>
      error.code === code && error.kind === 'permanent' && words.test(error.message),
  );

test('a new file is readable by its owner only, gets the current schema, and is left alone the next time', ({
  file,
  backupDir,
}) => {
  assert.equal(migrate({ file, backupDir }), ['schema.sql']);
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.equal(migrate({ file, backupDir }), []);
  assert.throws(() => readdirSync(backupDir), /ENOENT/, 'nothing to back up');
  connectTo(file).close();
});

test('a new file has what the migrations lead to, and is not migrated', ({ file, backupDir, directory, write }) => {
  write('0001_first.sql', 'ALTER TABLE things ADD COLUMN size INTEGER;');
  write('schema.sql', `${metaTable} CREATE TABLE things (name TEXT NOT NULL, size INTEGER) STRICT;`);
  assert.equal(migrate({ file, backupDir, directory }), ['schema.sql']);
  assert.equal(migrate({ file, backupDir, directory }), []);
  raw(file, (client) => assert.is(client.pragma('user_version', { simple: true }), 1));
});

test('a file that holds data is copied once, before the first missing migration, in place of what a try left', ({
  file,
  backupDir,
  directory,
  write,
}) => {
  migrate({ file, backupDir, directory });
  raw(file, (client) => client.exec("INSERT INTO things VALUES ('kept')"));
  write('0001_first.sql', 'ALTER TABLE things ADD COLUMN size INTEGER;');
  write('0002_second.sql', 'UPDATE things SET size = 3;');
  const copy = join(backupDir, 'quayside-before-0001_first.db');
  mkdirSync(backupDir);
  writeFileSync(copy, 'of a migration that failed');
  writeFileSync(`${copy}.partial`, 'of a process that was killed');
  assert.equal(migrate({ file, backupDir, directory }), ['0001_first.sql', '0002_second.sql']);
  assert.equal(readdirSync(backupDir), ['quayside-before-0001_first.db']);
  assert.is(statSync(copy).mode & 0o777, 0o600);
  raw(copy, (client) => {
    assert.equal(client.prepare('SELECT * FROM things').all(), [{ name: 'kept' }]);
    assert.is(client.pragma('user_version', { simple: true }), 0);
  });
  raw(file, (client) => assert.equal(client.prepare('SELECT * FROM things').all(), [{ name: 'kept', size: 3 }]));
  // A copy is a whole database: in place of the file, it is migrated in the same way, here without one more copy.
  copyFileSync(copy, file);
  assert.is(migrate({ file, backupDir: null, directory }).length, 2);
  assert.is(readdirSync(backupDir).length, 1);
});

test('a database whose copy is not sound is not migrated, and the copy is removed', ({
  file,
  backupDir,
  directory,
  write,
}) => {
  write('schema.sql', `${metaTable} CREATE TABLE things (size INTEGER) STRICT;`);
  migrate({ file, backupDir, directory });
  raw(file, (client) => {
    client.exec('INSERT INTO things VALUES (NULL)');
    client.unsafeMode(true);
    client.pragma('writable_schema = ON');
    client.exec("UPDATE sqlite_schema SET sql = replace(sql, 'size INTEGER', 'size INTEGER NOT NULL')");
  });
  write('0001_first.sql', 'ALTER TABLE things ADD COLUMN name TEXT;');
  refuses(() => migrate({ file, backupDir, directory }), 'copy_damaged', /NULL value in things.size/);
  assert.equal(readdirSync(backupDir), []);
  raw(file, (client) => assert.is(client.pragma('user_version', { simple: true }), 0));
});

test('a failed migration leaves the file unchanged, with those before it, and says so; one copy is left', ({
  file,
  backupDir,
  directory,
  write,
}) => {
  write(
    'schema.sql',
    `${metaTable}
     CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT; CREATE TABLE b (a INTEGER REFERENCES a (id)) STRICT;`,
  );
  migrate({ file, backupDir, directory });
  raw(file, (client) => client.exec('INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)'));
  write('0001_first.sql', 'CREATE TABLE d (id INTEGER) STRICT;');
  const broken: [string, RegExp][] = [
    ['CREATE TABLE c (id INTEGER) STRICT; CREATE NONSENSE;', /0002_second\.sql failed .* unchanged: .*NONSENSE/],
    ['DELETE FROM a;', /1 rows that refer to nothing/],
    ['INSERT INTO a VALUES (1);', /UNIQUE/],
  ];
  for (const [text, words] of broken) {
    write('0002_second.sql', text);
    refuses(() => migrate({ file, backupDir, directory }), 'migration_failed', words);
    assert.equal(readdirSync(backupDir), ['quayside-before-0001_first.db']);
    raw(file, (client) => {
      assert.is(client.pragma('user_version', { simple: true }), 0);
      assert.is(client.prepare('SELECT count(*) FROM a JOIN b ON b.a = a.id').pluck().get(), 1);
      assert.is(client.prepare("SELECT count(*) FROM sqlite_schema WHERE name IN ('c', 'd')").pluck().get(), 0);
    });
  }
});

test('a file of a newer program, of another program or from before 0.1.0 is refused', ({
  file,
  backupDir,
  directory,
  write,
}) => {
  migrate({ file, backupDir, directory });
  write('0001_first.sql', 'CREATE TABLE a (id INTEGER) STRICT;');
  migrate({ file, backupDir, directory });
  raw(file, (client) => client.pragma('user_version = 2'));
  refuses(() => migrate({ file, backupDir, directory }), 'database_newer', /schema 2.* knows 1/);
  rmSync(file);
  raw(file, (client) => client.exec('CREATE TABLE theirs (id INTEGER)'));
  const words = /was not made by Quayside 0\.1\.0 or later\. Set QUAYSIDE_DATA_DIR to an empty folder/;
  refuses(() => migrate({ file, backupDir, directory }), 'database_foreign', words);
  refuses(() => connectTo(file), 'database_foreign', words);
  // The mark that files had while the schema was still made of migrations.
  raw(file, (client) => client.exec('PRAGMA application_id = 0x51554159; PRAGMA user_version = 89'));
  refuses(() => migrate({ file, backupDir, directory }), 'database_foreign', words);
  const nowhere = join(directory, 'no', 'such', 'folder', 'quayside.db');
  assert.throws(
    () => migrate({ file: nowhere, backupDir, directory }),
    (error: { code?: string; message: string }) => error.code === 'storage_unavailable' && /ENOENT/.test(error.message),
  );
  rmSync(file);
  write('0003_third.sql', '');
  refuses(() => migrate({ file, backupDir, directory }), 'migration_missing', /2 is missing/);
});

test('the database is not opened with a newer schema, while it is empty, or without a file', ({ file, backupDir }) => {
  assert.throws(
    () => connectTo(file),
    (error: { code?: string }) => error.code === 'storage_unavailable',
  );
  writeFileSync(file, '');
  refuses(() => connectTo(file), 'database_foreign', /empty folder/);
  migrate({ file, backupDir });
  raw(file, (client) => client.pragma('user_version = 99'));
  refuses(() => connectTo(file), 'schema_not_current', /has schema 99.*newer program/);
});

test('processes that start at the same time make the file once', async ({ file, backupDir }) => {
  const program = `
      import { migrate } from ${JSON.stringify(built('src/database/engine/migrate.ts'))};
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
  // One of them makes it.
  const applied = (await Promise.all(runs)).flatMap((output) => JSON.parse(output) as string[]);
  assert.equal(applied, ['schema.sql']);
  connectTo(file).close();
});

test('the audit log keeps its entries: none is changed or deleted', ({ file, backupDir }) => {
  migrate({ file, backupDir });
  raw(file, (client) => {
    client.exec("INSERT INTO audit_log (at_ms, operator, command, target) VALUES (1, 'alice', 'key revoke', 'k1')");
    for (const change of ['DELETE FROM audit_log', "UPDATE audit_log SET operator = 'bob'"]) {
      assert.throws(() => client.exec(change), /append-only/);
    }
    assert.is(client.prepare('SELECT operator FROM audit_log').pluck().get(), 'alice');
  });
});

test('`npm run tables` would change nothing', () => {
  const words = ['--import', 'tsx', 'scripts/tables.ts', '--check'];
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: installationFolder, encoding: 'utf8' });
  assert.equal({ status, stderr }, { status: 0, stderr: '' });
});

test('every table is STRICT', ({ file, backupDir }) => {
  migrate({ file, backupDir });
  raw(file, (client) => {
    const listed = client.pragma('table_list') as { name: string; strict: number; type: string }[];
    const loose = listed.filter(({ strict, type, name }) => type === 'table' && !strict && !name.startsWith('sqlite_'));
    assert.equal(loose, []);
  });
});

/** Returns the columns and constraints of each table of a file, in an order of their own, its indexes and triggers. */
function shapeOf(file: string): Record<string, readonly string[]> {
  const parts = (definition: string): string[] => {
    const text = definition
      .replaceAll(/--.*/g, '')
      .replaceAll(/[\s"]+/g, ' ')
      .replaceAll(/ ?([(),]) ?/g, '$1');
    const found = [''];
    let depth = 0;
    for (const letter of text.slice(text.indexOf('(') + 1)) {
      if (letter === '(') depth++;
      if (letter === ')') depth--;
      if ((letter === ',' && depth === 0) || depth < 0) found.push('');
      else found.push(`${found.pop()}${letter}`);
    }
    return found.sort();
  };
  return raw(file, (client) => {
    const rows = client
      .prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all() as Readonly<{ type: string; name: string; sql: string }>[];
    return Object.fromEntries(
      rows.map(({ type, name, sql: text }) => [`${type} ${name}`, type === 'table' ? parts(text) : [text]]),
    );
  });
}

/** Makes one file of the schema, and one of what 0.1.0 had and the migrations since. @returns the shapes of both */
function bothWays(root: Folder, released: string, current: string) {
  const { backupDir, directory, write } = root;
  const [made, grown] = ['made.db', 'grown.db'].map((name) => join(directory, name)) as [string, string];
  const migrations = readdirSync(directory).filter((name) => /^\d{4}_/.test(name));
  const texts = migrations.map((name) => [name, readFileSync(join(directory, name), 'utf8')] as const);
  for (const name of migrations) rmSync(join(directory, name));
  write('schema.sql', released);
  migrate({ file: grown, backupDir, directory });
  write('schema.sql', current);
  for (const [name, text] of texts) write(name, text);
  migrate({ file: grown, backupDir, directory });
  migrate({ file: made, backupDir, directory });
  return { made: shapeOf(made), grown: shapeOf(grown) };
}

test('the schema equals that of 0.1.0 with all migrations since', (folder) => {
  const current = readFileSync(join(ownDirectory, 'schema.sql'), 'utf8');
  const own = readdirSync(ownDirectory).filter((name) => /^\d{4}_.*\.sql$/.test(name));
  const released = 'test/fixtures/schema-0.1.0.sql';
  // The first migration comes with a copy of the schema that was released.
  assert.ok(existsSync(released) || own.length === 0, `put the schema.sql of 0.1.0 into ${released}`);
  for (const name of own) copyFileSync(join(ownDirectory, name), join(folder.directory, name));
  const { made, grown } = bothWays(folder, own.length === 0 ? current : readFileSync(released, 'utf8'), current);
  assert.equal(grown, made);
});

test('a migration that does not lead to the schema is found', (folder) => {
  const released = `${metaTable} ${things}`;
  const current = (rest: string) =>
    `${metaTable} CREATE TABLE things (size INTEGER CHECK (size > 0), -- in grams\n name TEXT NOT NULL) STRICT; ${rest}`;
  folder.write('0001_first.sql', 'ALTER TABLE things ADD COLUMN size INTEGER CHECK (size > 0);');
  const agreeing = bothWays(folder, released, current(''));
  assert.equal(agreeing.grown, agreeing.made);
  for (const name of readdirSync(folder.directory)) if (name.includes('.db')) rmSync(join(folder.directory, name));
  const other = bothWays(folder, released, current('CREATE INDEX by_size ON things (size);'));
  assert.not.equal(other.grown, other.made);
});

test('SQLite with the WAL-reset bug is refused', () => {
  for (const version of ['3.7.0', '3.51.2', '3.50.9', '2.99.99']) {
    refuses(() => refuseOldSqlite(version), 'sqlite_too_old', /3\.51\.3/);
  }
  for (const version of ['3.51.3', '3.51.10', '3.53.2', '4.0.0']) refuseOldSqlite(version);
});

test.run();
