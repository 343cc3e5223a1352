/**
 * `quayside backup`, `restore` and `secret-key rotate` on an installation in use: what is restored is whole, gives no
 * address twice and pays nothing by itself, and a backup that was touched is refused.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { packArchive, unpackArchive } from '../../src/app/backup/archive.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { raw, rawly } from '../support/raw.ts';
import { retireMinutes } from '../support/retire-minutes.ts';
import { openToolBench, benchXpub as xpub } from '../support/tool-bench.ts';

const backup = { folder: '../target', passphrase_path: '../passphrase' };
const settings = { limits: { pool_target: 5 }, backup };
const bench = await openToolBench({ settings, source: xpubFingerprint(xpub) });
const { folder, file, run, answer, config, database, chain, keys, pool } = bench;
test.after(bench.close);
const passphraseFile = join(folder, 'passphrase');
writeFileSync(passphraseFile, 'correct horse battery\n', { mode: 0o600 });
const passphrase = Buffer.from('correct horse battery');
const secret = ['--passphrase-file', passphraseFile];
const target = join(folder, 'target');
const hex = (n: number) => n.toString(16).padStart(40, '0');

/** Asserts that a command is refused. @returns the message */
async function refused(code: string, ...words: string[]): Promise<string> {
  const ended = await run(...words, '--json');
  assert.is(ended.code, code === 'not_found' ? 3 : 1, ended.err);
  assert.is(JSON.parse(ended.out).error.code, code);
  return ended.err;
}

const indexOf = (to: string) => keys.indexOf(to);
/** Creates a session. @returns its address's index */
const take = async (name: string) => indexOf((await bench.order(name)).to);
const pay = (index: number) =>
  chain.mine([{ to: hex(index + 1), currency: 'USDT', units: 10_000_000n }]).then(chain.confirm);

assert.equal([await take('a'), await take('b')], [0, 1]);
await pay(0);
const made = await answer('backup', '--reason', 'first');

test('a backup is one encrypted file that only its owner reads, and an entry in the audit log', async () => {
  assert.equal(made.files, ['settings.json', 'quayside.db', 'secret.key']);
  assert.equal(readdirSync(target).length, 1);
  assert.is(statSync(made.file).mode & 0o777, 0o600);
  const bytes = readFileSync(made.file);
  const key = readFileSync(join(config.dataDir, 'secret.key'), 'utf8').trim();
  for (const text of [key, xpub, 'SQLite format', 'CREATE TABLE']) assert.not.ok(bytes.includes(text), text);
  const [entry] = await database.audit.list(1);
  assert.equal([entry?.command, entry?.reason, entry?.target], ['backup', 'first', made.file]);
  assert.equal(
    readdirSync(config.dataDir).filter((name) => name.includes('backup')),
    ['backup-report.json'],
  );
});

/** Runs `age -d` as a person does: it asks for the passphrase at a terminal, which `script` makes. */
const openWithAge = (path: string, out: string) =>
  spawnSync('script', ['-qec', `age -d -o ${out} ${path}`, '/dev/null'], { input: 'correct horse battery\n' });
const hasAge = ['age', 'script'].every((name) => spawnSync(name, ['--version']).status === 0);
(hasAge ? test : test.skip)('`age -d` and `tar -xz` open it without Quayside (needs age and script)', () => {
  const inside = join(folder, 'by-hand');
  mkdirSync(inside);
  const ended = openWithAge(made.file, join(inside, 'backup.tar.gz'));
  assert.is(ended.status, 0, String(ended.stdout));
  execFileSync('tar', ['-xzf', join(inside, 'backup.tar.gz'), '-C', inside]);
  const names = ['manifest.json', 'quayside.db', 'secret.key', 'settings.json'];
  assert.equal(readdirSync(inside).sort(), ['backup.tar.gz', ...names]);
  assert.is(readFileSync(join(inside, 'settings.json'), 'utf8'), readFileSync(file, 'utf8'));
  assert.is(statSync(join(inside, 'secret.key')).mode & 0o777, 0o600);
  const sessions = raw(join(inside, 'quayside.db'), (copy) => copy.prepare('SELECT id FROM sessions').all());
  assert.is(sessions.length, 2);
});

test('verify restores it, adds up the ledger and leaves nothing behind', async () => {
  const proved = await answer('restore', made.file, '--dry-run', ...secret);
  assert.is(proved.sound, true);
  assert.ok(proved.ledger_entries > 0);
  assert.equal(readdirSync(target).length, 1);
});

test('a backup is restored on trial at once, and `status` says when', async () => {
  assert.is(made.proved, true);
  const { newest } = JSON.parse((await run('status', '--json')).out).backup;
  assert.equal([newest.file, newest.made_at, newest.sent_at], [made.file, made.made_at, null]);
  assert.ok(newest.proved_at >= newest.made_at);
});

test('a file that was cut, extended or changed, or another passphrase, is refused and leaves nothing behind', async () => {
  const whole = readFileSync(made.file);
  const copy = join(folder, 'touched', 'copy.backup');
  mkdirSync(join(folder, 'touched'));
  const flip = (at: number) => whole.map((byte, index) => (index === at ? byte ^ 1 : byte));
  const touched = {
    empty: whole.subarray(0, 0),
    'another first line': flip(3),
    'last byte': whole.subarray(0, -1),
    more: Buffer.concat([whole, Buffer.alloc(1)]),
    'byte of the tag': flip(whole.length - 1),
    'byte of the content': flip(Math.floor(whole.length / 2)),
  };
  for (const [what, bytes] of Object.entries(touched)) {
    writeFileSync(copy, bytes);
    assert.match(await refused('backup_damaged', 'restore', copy, '--dry-run', ...secret), 'use another copy', what);
    assert.equal(readdirSync(join(folder, 'touched')), ['copy.backup']);
  }
  const wrong = join(folder, 'wrong');
  writeFileSync(wrong, 'another passphrase', { mode: 0o600 });
  await refused('passphrase_wrong', 'restore', made.file, '--dry-run', '--passphrase-file', wrong);
  chmodSync(wrong, 0o644);
  await refused('passphrase_file_open', 'restore', made.file, '--dry-run', '--passphrase-file', wrong);
  writeFileSync(passphraseFile, 'short');
  await refused('passphrase_weak', 'backup');
  writeFileSync(passphraseFile, passphrase);
  assert.equal(readdirSync(target).length, 1);
  await refused('not_found', 'restore', join(folder, 'nothing'), '--dry-run', ...secret);
});

test('a database that lacks rows is not sound, and is not restored', async () => {
  const inside = join(folder, 'inside');
  mkdirSync(inside);
  await unpackArchive(made.file, inside, passphrase);
  rawly(join(inside, 'quayside.db'), 'DELETE FROM blocks');
  const lying = join(folder, 'lying.backup');
  await packArchive(lying, inside, passphrase);
  const { code, out } = await run('restore', lying, '--dry-run', ...secret, '--json');
  assert.is(code, 1);
  assert.match(JSON.parse(out).problems[0], 'names no row of blocks');
  await refused('backup_unsound', 'restore', lying, join(folder, 'unsound'), ...secret);
  assert.equal(readdirSync(join(folder, 'unsound')), []);
});

test('addresses given after the backup are not given twice, stay watched, and payouts are frozen', async () => {
  // Given after the backup, to somebody who pays later.
  assert.equal([await take('c'), await take('d')], [2, 3]);
  const data = join(folder, 'restored');
  const said = await answer('restore', made.file, data, ...secret);
  assert.is(said.payouts_frozen, true);
  assert.equal(readdirSync(data).sort(), ['quayside.db', 'secret.key', 'settings.json']);
  await refused('folder_not_empty', 'restore', made.file, data, ...secret);

  const own = openDatabase({ ...config, dataDir: data }, process.env);
  try {
    await retireMinutes(own, 1);
    const watched = (await own.addresses.watchList(pool, 0, 100)).map(({ key }) => key);
    assert.ok(watched.includes(hex(3)) && watched.includes(hex(4)));
    assert.is((await own.holds.list())[0]?.code, 'restored_from_backup');
    assert.is((await own.audit.list(1))[0]?.command, 'restore');
    bench.use(own);
    await chain.mine();
    await chain.report('following');
    assert.is(await take('e'), 13);
    await pay(3);
    const alarms = await own.alarms.list(10);
    const codes = alarms.map(({ code }) => code);
    assert.ok(codes.includes('payment_without_session'), codes.join());
  } finally {
    bench.use(database);
    own.close();
  }
  assert.is(existsSync(join(data, 'quayside.db-wal')), false);
});

test('a person sees the commands of each network', async () => {
  const { out } = await run('restore', made.file, join(folder, 'told'), ...secret);
  assert.match(out, 'quayside payout reconcile test:ethereum --reason …\n');
});

test('the secret key is rotated after a backup, and no key is printed; a rotation that was interrupted is ended', async () => {
  await answer('webhook', 'add', 'https://93.184.215.14/hook', '--mode', 'test');
  database.close();
  const keyFile = join(config.dataDir, 'secret.key');
  const before = readFileSync(keyFile, 'utf8').trim();
  const backups = join(folder, 'before-rotation');
  const rotate = ['secret-key', 'rotate', '--to', backups, ...secret];
  const { code, out, err } = await run(...rotate);
  assert.is(code, 0, err);
  const after = readFileSync(keyFile, 'utf8').trim();
  assert.is(statSync(keyFile).mode & 0o777, 0o600);
  assert.match(out, new RegExp(`^kind +done\nfile +${keyFile}\nresealed +[1-9]\\d*\naltered +0\n`));
  for (const key of [before, after]) assert.not.ok(`${out}${err}`.includes(key));
  assert.is.not(after, before);
  const [kept = '', ...others] = readdirSync(backups);
  assert.equal(others, []);
  assert.is((await answer('restore', join(backups, kept), '--dry-run', ...secret)).sound, true);

  writeFileSync(`${keyFile}.next`, `${after}\n`, { mode: 0o600 });
  writeFileSync(keyFile, `${'ab'.repeat(32)}\n`);
  const refused = await run('webhook', 'list');
  assert.is(refused.code, 1);
  assert.match(refused.err, 'If `quayside secret-key rotate` was interrupted, run it again');
  assert.is((await answer(...rotate)).kind, 'ended');
  assert.is(readFileSync(keyFile, 'utf8').trim(), after);
  const [endpoint] = await answer('webhook', 'list');
  assert.match((await answer('webhook', 'secret', endpoint.id)).webhook_secret, /^whsec_/);
});

test.run();
