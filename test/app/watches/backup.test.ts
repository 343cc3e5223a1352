import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rememberBackup, updateBackupReport } from '../../../src/app/backup/report.ts';
import { watchBackup } from '../../../src/app/watches/backup.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { watched } from '../../support/watched.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

test('no proved backup for the days that are set, or a night that failed, raises an alarm that ends by itself', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-watch-'));
  const { database, close } = openTempDatabase();
  const clock = handClock();
  const backup = { nightly: '03:15', scheduled: null, standby: null };
  const bench = watched(watchBackup({ dataDir, backup }), database, clock);
  const made = (provedAtMs: number | null) =>
    rememberBackup(dataDir, { file: 'f', made_at_ms: clock.nowMs(), proved_at_ms: provedAtMs, sent_at_ms: null });
  try {
    assert.equal(await bench.look(), []);
    assert.equal(await bench.after(47 * HOUR_MS), [], 'the first night may be yet to come');
    made(null);
    assert.equal(await bench.after(2 * HOUR_MS), ['backup_unproved'], 'one that was not proved does not count');
    made(clock.nowMs());
    assert.equal(await bench.after(3 * MINUTE_MS, MINUTE_MS), []);
    const failure = { at_ms: clock.nowMs(), message: 'the disk was full' };
    updateBackupReport(dataDir, () => ({ failure }));
    assert.equal(await bench.after(MINUTE_MS), ['backup_unproved']);
    assert.match((await bench.open())[0]?.message ?? '', 'the disk was full');
    updateBackupReport(dataDir, () => ({ failure: null }));
    assert.equal(await bench.after(3 * MINUTE_MS, MINUTE_MS), []);
    assert.equal(await bench.after(49 * HOUR_MS), ['backup_unproved']);
  } finally {
    close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('nothing is watched where no backups are scheduled', async () => {
  const { database, close } = openTempDatabase();
  const backup = { nightly: null, scheduled: null, standby: null };
  const bench = watched(watchBackup({ dataDir: '/nowhere', backup }), database, handClock());
  try {
    assert.equal(await bench.after(100 * HOUR_MS), []);
  } finally {
    close();
  }
});

test.run();
