/** The journal is read for a backup while refunds are signed: what is read is its state at one moment. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signerFiles } from '../../src/signer/files.ts';
import { handClock } from '../support/hand-clock.ts';
import { LONG_NETWORK, lengthenJournal } from '../support/long-journal.ts';
import { refusalOf } from '../support/refusal.ts';
import { backUpInto, readBackup } from '../support/signer-backup.ts';
import { firstOf, makeSignerFolder, openSigningServiceIn, refundOf, usdt } from '../support/temp-signer.ts';

const ROWS = 20_000;

const home = mkdtempSync(join(tmpdir(), 'quayside-journal-snapshot-'));
const folder = makeSignerFolder(undefined, false);
const { journal: file } = signerFiles(folder.dir);
lengthenJournal(file, ROWS);
const { service, journal, close } = openSigningServiceIn(folder.dir, handClock());
test.after(() => {
  close();
  folder.remove();
  rmSync(home, { recursive: true, force: true });
});

let nonce = 0;
const sign = () => service.sign(firstOf(refundOf(`rf_${++nonce}`, usdt(1)), nonce));
/** The journal as another process would open it. */
const beside = new Sqlite(file);
test.after(() => void beside.close());

/** Returns the refunds in a journal's content, after every page of it was checked. */
function refundsIn(content: Uint8Array): number {
  const copy = join(home, 'copy.db');
  writeFileSync(copy, content);
  const client = new Sqlite(copy);
  try {
    assert.equal(client.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    const count = client.prepare('SELECT count(*) FROM signatures WHERE network = ?').pluck();
    assert.is(count.get(LONG_NETWORK), ROWS);
    return count.get('test:one') as number;
  } finally {
    client.close();
    rmSync(copy);
  }
}

test('what is signed and checkpointed while it is read is not in it, and no page is torn', async () => {
  for (let at = 0; at < 10; at++) sign();
  const parts: Buffer[] = [];
  for await (const part of service.backup()) {
    // All over the file: the indices of ids and transactions are not in the order of time.
    for (let at = 0; at < 8 && nonce < 200; at++) sign();
    beside.pragma('wal_checkpoint(PASSIVE)');
    parts.push(part);
  }
  assert.ok(nonce > 80, `${nonce} were signed`);
  const backup = join(home, 'signer.backup');
  writeFileSync(backup, Buffer.concat(parts));
  assert.is(refundsIn((await readBackup(backup)).journal), 10);
  const after = join(home, 'after.backup');
  await backUpInto(after, service);
  assert.is(refundsIn((await readBackup(after)).journal), nonce);
  const [ended] = beside.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  assert.is(ended?.busy, 0, 'the file may change again');
});

test('there is one backup at a time, and the next may begin as soon as one has ended, however it ended', async () => {
  const first = service.backup();
  await first.next();
  const refused = await service
    .backup()
    .next()
    .catch(({ code }) => code);
  assert.is(refused, 'backup_running');
  await first.next();
  await first.return();
  const second = service.backup();
  await second.next();
  await second.throw(new Error('the caller failed')).catch(() => {});
  await backUpInto(join(home, 'third.backup'), service);
  journal.snapshot().close();
});

test('another program that keeps an older state open is named; nothing is held afterwards', async () => {
  beside.exec('BEGIN');
  beside.prepare('SELECT count(*) FROM owner').get();
  sign();
  assert.is(
    refusalOf(() => journal.snapshot()),
    'backup_blocked',
  );
  beside.exec('COMMIT');
  journal.snapshot().close();
});

test('the signer keeps its locks on the file', async () => {
  // They belong to the process, and end as soon as it closes any handle of the file.
  const { ino } = statSync(file);
  const locks = () =>
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .filter((line) => line.includes(`:${ino} `)).length;
  const before = locks();
  assert.ok(before > 0);
  await backUpInto(join(home, 'locks.backup'), service);
  assert.is(locks(), before);
});

test.run();
