/** The room that the next backup needs: beside the database, and in the folder of the backups. */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup } from '../../../src/app/backup/report.ts';
import { lackOfRoom } from '../../../src/app/backup/room.ts';
import { databaseFile } from '../../../src/lib/secret-key.ts';

const TIB = 2 ** 40;
const place = mkdtempSync(join(tmpdir(), 'quayside-room-'));
const dataDir = join(place, 'data');
mkdirSync(dataDir);
test.after(() => rmSync(place, { recursive: true, force: true }));

const lack = (folder: string, diskFreeBytesMin = 0) =>
  lackOfRoom({ dataDir, alarms: { diskFreeBytesMin } as Parameters<typeof lackOfRoom>[0]['alarms'] }, { folder });
/** Has no room at all, and is another file system. */
const full = '/proc/backups';

test('the data folder needs as much as the database, and what must stay free', async () => {
  const folder = join(place, 'not', 'made', 'yet');
  assert.is(await lack(folder), null);
  const needs = (mib: number) => new RegExp(`^${dataDir} has \\d+ MiB free, and a backup needs ${mib} MiB there$`);
  assert.match((await lack(folder, 1024 * TIB)) ?? '', needs(1024 ** 3));
  writeFileSync(databaseFile(dataDir), '');
  truncateSync(databaseFile(dataDir), 4 * TIB);
  // On one file system both need room: the copy, and the backup, of whose size nothing is known yet.
  assert.match((await lack(folder)) ?? '', needs(8 * 1024 ** 2));
  truncateSync(databaseFile(dataDir), 0);
});

test('the folder of the backups needs twice the newest one', async () => {
  assert.is(await lack(full), null, 'nothing is known, and the database is empty');
  writeFileSync(databaseFile(dataDir), 'something');
  assert.match((await lack(full)) ?? '', `${full} has 0 MiB free, and a backup needs 1 MiB there`);
  const file = join(place, 'newest.backup');
  writeFileSync(file, '');
  truncateSync(file, 2 ** 20);
  rememberBackup(dataDir, { file, made_at_ms: 1, proved_at_ms: null, sent_at_ms: null });
  assert.match((await lack(full)) ?? '', `${full} has 0 MiB free, and a backup needs 2 MiB there`);
});

test.run();
