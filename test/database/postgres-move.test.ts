/**
 * The move of an installation to PostgreSQL and back. Run by `npm test -- --postgres`; without a server, only what is
 * refused before it is tested.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { takeInstanceLock } from '../../src/database/engine/instance-lock.ts';
import { openPostgres } from '../../src/database/engine/postgres.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { fails } from '../conformance/database/place.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { copyTemplate, onPool, untilUnused } from '../support/postgres.ts';
import { environment, runQuayside } from '../support/quayside-process.ts';
import { openToolBench } from '../support/tool-bench.ts';

const folder = process.env.TEST_POSTGRES ?? '';
const test = suite('move');
const onServer = folder === '' ? test.skip : test;
const program = ownProgram(new URL('./dying-move.ts', import.meta.url));

type Bench = Awaited<ReturnType<typeof openToolBench>>;
type Answered = Readonly<{ rows: number; tables: readonly { table: string; rows: number }[]; problems: string[] }>;

const ODD = `it’s "odd", a \\ and {braces}, ü, 😀, NULL, ''`;
const NETWORK = 'test:ethereum';
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, at) => at));

/** Rows with all that the engines may store otherwise: bytes, the largest number, text in any order, and any text. */
const rowsOf = (odd: string): string => `
INSERT INTO people (id, name, memberships, totp_step, failures, locked_until_ms, recovery_hashes, passkeys, created_at_ms)
  VALUES ('usr_1', 'Ada', '[]', 0, 0, 0, '[]', '[]', 1);
INSERT INTO web_sessions (hash, person_id, started_at_ms, seen_at_ms, sudo_until_ms, form_token, previous_until_ms)
  VALUES ('h', 'usr_1', -1, 0, 9007199254740991, ${odd}, 0);
INSERT INTO replays (scope, key, keep_until_ms) VALUES ('s', 'B', 1), ('s', 'a', 1), ('s', 'é', 1), ('s', '😀', 1);
-- Each serves the one after it in the order of keys.
INSERT INTO payouts (id, kind, network, intent, state, generation, not_before_ms, created_at_ms, updated_at_ms, serves_id)
  SELECT id, 'gas', '${NETWORK}', '{"kind":"gas"}', 'waiting', 0, 0, 1, 1, serves_id
  FROM (SELECT 'po_1' AS id, 'po_2' AS serves_id UNION ALL SELECT 'po_2', 'po_3' UNION ALL SELECT 'po_3', NULL);
INSERT INTO payout_attempts (payout_id, generation, attempt, network, payer, payer_role, terms, fee_units_max, tx, bytes,
  signed_at_ms) VALUES ('po_1', 0, 0, '${NETWORK}', 'p', 'gas', '{}', '1', 't', x'0041ff5c', 1);`;

/** Makes an installation that has a paid session and is stopped. */
async function openFilled() {
  const bench = await openToolBench();
  await bench.answer('key', 'create', '--mode', 'test');
  await bench.answer('payout', 'freeze', NETWORK, '--reason', ODD);
  const paid = await bench.order('paid');
  await paid.pay(10_000_000n);
  bench.database.close();
  const file = databaseFile(bench.config.dataDir);
  const raw = new Sqlite(file);
  raw.prepare('UPDATE stores SET logo = ?').run(BYTES);
  raw.exec(rowsOf(`'${ODD.replaceAll("'", "''")}'`));
  raw.close();
  return { ...bench, file, open: () => new Sqlite(file) };
}

type Filled = Awaited<ReturnType<typeof openFilled>>;

/** Runs the tool on the PostgreSQL database. */
const onUrl = ({ variables }: Bench, url: string, ...words: string[]) =>
  runQuayside(words, { ...variables, QUAYSIDE_DATABASE_URL: url });

const move = (bench: Bench, url: string, ...more: string[]) =>
  bench.run('database', 'move', '--to', url, '--json', ...more);

const back = (bench: Bench, url: string, ...more: string[]) =>
  onUrl(bench, url, 'database', 'move', '--to', 'sqlite', '--json', ...more);

function answered({ code, out, err }: Readonly<{ code: number; out: string; err: string }>): Answered {
  assert.is(code, 0, `${out}${err}`);
  return JSON.parse(out);
}

/** Asserts that a command was refused with a code. @returns the sentence */
function refusal({ code, out }: Readonly<{ code: number; out: string }>, expected: string): string {
  assert.is(code, 1);
  const { error } = JSON.parse(out);
  assert.is(error.code, expected, error.message);
  return error.message;
}

/** Moves in a process that is killed when it comes to a table. */
function killAt({ variables }: Bench, url: string, table: string): void {
  const words = [...loaderOptions, program, url, table];
  const killed = spawnSync(process.execPath, words, { encoding: 'utf8', env: environment(variables) });
  assert.is(killed.signal, 'SIGKILL', killed.stderr);
}

const asked = async (url: string, text: string) => (await onPool(url, (pool) => pool.query(text))).rows;

/** A test of an installation, and of a database without tables that it may move to. */
const onFilled = (title: string, work: (bench: Filled, url: string) => Promise<void>) =>
  onServer(title, async () => {
    const [bench, { url, remove }] = [await openFilled(), copyTemplate(folder)];
    await asked(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await work(bench, url);
    remove();
    bench.close();
  });

test('a database that was moved away is not opened, and says where its data is and how it comes back', async () => {
  const bench = await openToolBench();
  bench.database.close();
  const raw = new Sqlite(databaseFile(bench.config.dataDir));
  const mark = (kind: string, isServer: boolean) =>
    raw
      .prepare("INSERT INTO meta VALUES ('move', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
      .run(JSON.stringify({ kind, place: 'shop on db', isServer, atMs: 0 }));
  mark('to', true);
  for (const words of [['status'], ['key', 'list']]) {
    const text = refusal(await bench.run(...words, '--json'), 'database_moved');
    assert.match(text, /was moved to shop on db on 1970-01-01: set QUAYSIDE_DATABASE_URL .* move --to sqlite`/);
  }
  const rotation = ['secret-key', 'rotate', '--to', bench.folder, '--passphrase-file', bench.file, '--json'];
  refusal(await bench.run(...rotation), 'database_moved');
  mark('from', true);
  refusal(await bench.run('status', '--json'), 'move_unfinished');
  assert.match((await bench.run('doctor')).out, 'has not ended');
  raw.close();
  bench.close();
});

test('a move needs a database on the other side', async () => {
  const bench = await openToolBench();
  bench.database.close();
  assert.is((await bench.run('database', 'move', '--to', 'sqlite')).code, 2);
  refusal(await bench.run('database', 'move', '--to', 'mysql://h/d', '--json'), 'database_url_wrong');
  const elsewhere = { ...bench.variables, QUAYSIDE_DATA_DIR: join(bench.folder, 'none') };
  assert.is((await runQuayside(['database', 'move', '--to', 'postgres://h/d'], elsewhere)).code, 2);
  bench.close();
});

onFilled(
  'everything moves and comes back as it was; a rehearsal leaves nothing; what was left is not opened',
  async (bench, url) => {
    const release = takeInstanceLock(bench.config.dataDir);
    const rehearsed = answered(await move(bench, url, '--dry-run'));
    assert.equal(rehearsed.problems, []);
    assert.equal(await asked(url, "SELECT 1 FROM pg_class WHERE relname = 'meta'"), [], 'the rehearsal is gone');
    refusal(await move(bench, url), 'already_running');
    release();

    const there = answered(await move(bench, url));
    assert.equal(there.tables, rehearsed.tables);
    assert.ok(there.rows > 60);
    assert.match(refusal(await bench.run('status', '--json'), 'database_moved'), 'set QUAYSIDE_DATABASE_URL');
    refusal(await move(bench, url), 'database_moved');
    const [payout] = await asked(url, "SELECT serves_id FROM payouts WHERE id = 'po_1'");
    assert.is(payout.serves_id, 'po_2');
    const refused = await asked(url, 'DELETE FROM audit_log').catch((error: Error) => error.message);
    assert.match(String(refused), 'append-only');
    assert.is((await onUrl(bench, url, 'key', 'list')).code, 0);

    assert.equal(answered(await back(bench, url, '--dry-run')).tables, there.tables);
    const other = openPostgres(url, {});
    await other.read(() => other.client.prepare('SELECT 1').get());
    assert.match(refusal(await back(bench, url), 'database_in_use'), 'stop it on every machine');
    other.close();
    await untilUnused(url);
    assert.match(refusal(await back(bench, url), 'target_not_empty'), 'move the file elsewhere');
    renameSync(bench.file, `${bench.file}.moved`);
    const home = answered(await back(bench, url));
    assert.equal(home.tables, there.tables, 'byte for byte');
    assert.match(refusal(await onUrl(bench, url, 'key', 'list', '--json'), 'database_moved'), 'unset');
    assert.not.match(readdirSync(bench.config.dataDir).join(), 'rehearsed');
    assert.match(refusal(await move(bench, url), 'target_not_empty'), 'Nothing was changed');
  },
);

onFilled('a move that was killed at any step goes on; until its end only the source is opened', async (bench, url) => {
  for (const table of ['meta', 'keys', 'payouts', 'audit_log']) {
    killAt(bench, url, table);
    assert.is((await bench.run('key', 'list')).code, 0, 'the source is in use');
    assert.match(
      refusal(await onUrl(bench, url, 'key', 'list', '--json'), 'move_unfinished'),
      'run the same `quayside database move` again',
    );
    const elsewhere = await openToolBench();
    elsewhere.database.close();
    refusal(await move(elsewhere, url), 'target_not_empty');
    elsewhere.close();
  }
  const there = answered(await move(bench, url));
  const from = { kind: 'from', place: bench.file, isServer: false, atMs: 0 };
  await asked(url, `INSERT INTO meta VALUES ('move', '${JSON.stringify(from)}')`);
  assert.equal(answered(await move(bench, url)).tables, there.tables, 'killed between its two marks');
  assert.is((await onUrl(bench, url, 'key', 'list')).code, 0);
});

onFilled('what differs, or does not add up, is said, and the source stays in use', async (bench, url) => {
  killAt(bench, url, 'audit_log');
  const raw = bench.open();
  raw.prepare("UPDATE keys SET name = 'another'").run();
  raw.prepare("UPDATE ledger_postings SET units = '5' WHERE units NOT LIKE '-%'").run();
  const changed = await move(bench, url);
  assert.is(changed.code, 1);
  const problems = (JSON.parse(changed.out) as Answered).problems.join('\n');
  for (const what of [/^keys differs: 1 rows/m, /^ledger_postings differs/m]) assert.match(problems, what);
  assert.is((await bench.run('key', 'list')).code, 0);
  const rehearsed = await move(bench, url, '--dry-run');
  assert.is(rehearsed.code, 1);
  assert.match((JSON.parse(rehearsed.out) as Answered).problems.join('\n'), /^the ledger does not add up: /);
  raw.close();
});

onFilled('the secret key is rotated as in a file, while nobody else can use the database', async (bench, url) => {
  const passphrase = join(bench.folder, 'passphrase');
  writeFileSync(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
  const words = ['secret-key', 'rotate', '--to', join(bench.folder, 'kept'), '--passphrase-file', passphrase, '--json'];
  const countsOf = ({ out }: { out: string }) => ({ ...JSON.parse(out), file: '' });
  answered(await move(bench, url));
  const config = { ...bench.config, databaseUrl: url };
  const other = openDatabase(config, process.env);
  await other.stores.list();
  assert.match(refusal(await onUrl(bench, url, ...words), 'database_in_use'), 'stop it on every machine');
  assert.not(existsSync(join(bench.folder, 'kept')), 'nothing was begun');
  other.close();
  await untilUnused(url);
  const there = countsOf(await onUrl(bench, url, ...words));
  assert.ok(there.resealed > 2);
  assert.match(readdirSync(join(bench.folder, 'kept')).join(), /^secret\.key-\d+T\d+Z\.gz\.age$/);
  const act = { atMs: Date.now(), operator: 'ann', command: 'secret-key rotate', reason: null };
  const late: Promise<void>[] = [];
  const openLate = async (): Promise<void> => {
    const database = openDatabase(config, {});
    await fails(database.stores.list(), 'secret_key_wrong').finally(() => database.close());
  };
  await untilUnused(url);
  await rotateSecretKey({
    config,
    env: {},
    act,
    backup: async () => {},
    onStep(step) {
      if (step === 'people') late.push(openLate());
    },
  });
  assert.is((await Promise.all(late)).length, 1);
  await untilUnused(url);
  renameSync(bench.file, `${bench.file}.moved`);
  answered(await back(bench, url));
  assert.equal(countsOf(await bench.run(...words)), there);
  assert.is((await bench.run('key', 'list')).code, 0);
});

test.run();
