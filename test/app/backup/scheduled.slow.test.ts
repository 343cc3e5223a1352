/**
 * The backup of every night: made, proved, sent, and nothing deleted but what it made itself.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBackupReport, updateBackupReport } from '../../../src/app/backup/report.ts';
import { runScheduledBackup } from '../../../src/app/backup/scheduled.ts';
import { proveBackup } from '../../../src/app/backup/unpacked.ts';
import { openDatabase } from '../../../src/app/open-database.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { invariant } from '../../../src/core/fault.ts';
import { DAY_MS, systemClock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { runProgram, runQuayside } from '../../support/quayside-process.ts';
import { faultOf } from '../../support/refusal.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-scheduled-'));
const target = join(folder, 'target');
const passphraseFile = join(folder, 'passphrase');
writeFileSync(passphraseFile, 'correct horse battery\n', { mode: 0o600 });
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const settings = join(folder, 'quayside.json');
const backup = { folder: '../target', passphrase_path: '../passphrase' };
writeFileSync(
  settings,
  JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } }, backup }),
);
const variables = { QUAYSIDE_CONFIG: settings };
const { code, err } = await runQuayside(['store', 'add', 'Shop'], variables);
assert.is(code, 0, err);
const env = { ...process.env, ...variables };
const config = loadConfig({ env, cwd: folder });
const database = openDatabase(config, env);
test.after(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a backup so many days ago. */
function night(
  daysAgo: number,
  send: readonly string[] | null = null,
  passphrase = passphraseFile,
  signer = config.signer,
) {
  const { scheduled } = config.backup;
  invariant(scheduled, 'it is configured');
  const act = { atMs: systemClock.nowMs() - daysAgo * DAY_MS, operator: 'schedule', command: 'backup', reason: null };
  const backup = { ...config.backup, scheduled: { ...scheduled, send, passphraseFile: passphrase } };
  const log = openLog('test', 'silent');
  return runScheduledBackup({
    config: { ...config, backup, signer },
    audit: database.audit,
    env,
    act,
    clock: systemClock,
    log,
  });
}

const report = () => readBackupReport(config.dataDir);

test('a proved backup replaces older scheduled ones, and never a file that the schedule did not make', async () => {
  const first = await night(1);
  const foreign = ['quayside-20200101T000000000Z.tar.gz.age', 'notes.txt'];
  for (const name of foreign) writeFileSync(join(target, name), '');
  const second = await night(2);
  assert.equal({ deleted: first.deleted, secondDeleted: second.deleted }, { deleted: [], secondDeleted: [] });
  const third = await night(1);
  assert.equal(third.deleted, [basename(first.file)]);
  assert.equal(readdirSync(target).sort(), [...foreign, basename(second.file), basename(third.file)].sort());
  assert.is(report().newest?.file, third.file);
  const entry = (await database.audit.list(10)).find(({ target }) => target === third.file);
  assert.equal([entry?.operator, entry?.after?.deleted], ['schedule', basename(first.file)]);
});

test('a night that fails deletes nothing, is remembered, and keeps what was proved before', async () => {
  const before = readdirSync(target);
  const { newest } = report();
  const fault = await faultOf(night(0, null, join(folder, 'nothing')));
  assert.is(fault.code, 'not_found');
  assert.equal(readdirSync(target), before);
  assert.equal({ newest: report().newest, message: report().failure?.message }, { newest, message: fault.message });
  await night(0);
  assert.is(report().failure, null);
});

test('a backup that is not sound does not count, and is not kept', async () => {
  const raw = new Sqlite(join(config.dataDir, 'quayside.db'));
  const { newest } = report();
  const before = readdirSync(target);
  raw.exec(`
    INSERT INTO ledger_entries (network, seq, kind, cause, occurrence, at_ms) VALUES ('test:x', 1, 'payment', '1', 0, 0);
    INSERT INTO ledger_postings VALUES ('test:x', 1, 'collected', '', 'USDT', '7')`);
  assert.is((await faultOf(night(0))).code, 'backup_unsound');
  raw.exec('DELETE FROM ledger_postings; DELETE FROM ledger_entries');
  raw.close();
  assert.equal(readdirSync(target), before);
  assert.equal(report().newest, newest);
});

test('a night without room makes nothing, and says where room is needed', async () => {
  const alarms = { ...config.alarms, diskFreeBytesMin: 2 ** 50 };
  const act = { atMs: systemClock.nowMs(), operator: 'schedule', command: 'backup', reason: null };
  const parts = {
    config: { ...config, alarms },
    audit: database.audit,
    env,
    act,
    clock: systemClock,
    log: openLog('test', 'silent'),
  };
  const fault = await faultOf(runScheduledBackup(parts));
  assert.is(fault.code, 'backup_no_room');
  assert.match(fault.message, / has \d+ MiB free, and a backup needs \d+ MiB there/);
  assert.is(report().failure?.message, fault.message);
});

test('a backup without the signer’s part replaces nothing, and the night counts as failed', async () => {
  const before = readdirSync(target);
  const silent = { dir: join(folder, 'nowhere'), unlock: { kind: 'external' } } as const;
  const earlier = await night(0, null, passphraseFile, silent);
  assert.type(earlier.signerFault, 'string');
  assert.equal(earlier.deleted, []);
  const { file } = await night(0, null, passphraseFile, silent);
  assert.equal(readdirSync(target).sort(), [...before, basename(earlier.file), basename(file)].sort());
  assert.match(report().failure?.message ?? '', `${file} lacks the signer’s part`);
  const whole = await night(0);
  assert.ok(whole.deleted.includes(basename(file)), whole.deleted.join());
  assert.is(report().failure, null);
});

test('a command gets the file and its name as arguments, and nothing of our environment', async () => {
  const copies = join(folder, 'copies');
  const script = 'mkdir -p "$0" && cp "$1" "$0/$2" && env > "$0/environment"';
  const sent = await night(0, ['/bin/sh', '-c', script, copies, '{file}', '{name}']);
  const copy = join(copies, basename(sent.file));
  const { problems } = await proveBackup(copy, folder, Buffer.from('correct horse battery'));
  assert.equal({ isSent: sent.isSent, problems }, { isSent: true, problems: [] });
  assert.not.match(readFileSync(join(copies, 'environment'), 'utf8'), 'QUAYSIDE_');
  assert.type(report().newest?.sent_at_ms, 'number');
});

test('a command that fails is a failure that says what it said; the backup stays', async () => {
  const run = (script: string) => faultOf(night(0, ['/bin/sh', '-c', script]));
  const refused = await run('echo no room there >&2; exit 3');
  assert.is(refused.code, 'backup_not_sent');
  assert.match(refused.message, /exit code 3 no room there/);
  assert.ok(existsSync(report().newest?.file ?? ''));
  assert.is(report().newest?.sent_at_ms, null);
  assert.match((await faultOf(night(0, ['/nowhere/program']))).message, /\/nowhere\/program: not found/);
});

test('the program of the night and `quayside backup` do the same; `status` says when it was proved', async () => {
  const before = report().newest?.file;
  const program = await runProgram(['scripts/nightly-backup.ts'], variables);
  assert.is(program.code, 0, program.stderr);
  assert.is.not(report().newest?.file, before);
  const ended = await runQuayside(['backup', '--json'], variables);
  assert.is(ended.code, 0, ended.err);
  const said = JSON.parse(ended.out);
  assert.equal([said.proved, said.sent, report().newest?.file], [true, false, said.file]);
  const status = JSON.parse((await runQuayside(['status', '--json'], variables)).out);
  assert.match(status.backup.newest.proved_at, /^\d{4}-/);
  assert.is((await runQuayside(['backup', '--keep', '3'], variables)).code, 2);

  updateBackupReport(config.dataDir, () => ({ failure: { at_ms: 0, message: 'it failed' } }));
  const { out } = await runQuayside(['status'], variables);
  assert.match(out, 'backup FAILED at 1970-01-01 00:00:00: it failed');
});

test('without settings for it, `quayside backup` says what is missing', async () => {
  const bare = { QUAYSIDE_DATA_DIR: config.dataDir };
  const { code, err } = await runQuayside(['backup'], bare);
  assert.is(code, 1);
  assert.match(err, 'set `backup.folder` and `backup.passphrase_path`');
});

test.run();
