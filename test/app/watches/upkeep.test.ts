import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { updateBackupReport } from '../../../src/app/backup/report.ts';
import { watchUpkeep } from '../../../src/app/watches/upkeep.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { watched } from '../../support/watched.ts';

type Stage = { dataDir: string; clock: HandClock; temp: TempDatabase };
const upkeep = suite<Stage>('upkeep');
const nothing = { nightly: null, scheduled: null, standby: null };
const networks = [testNetwork({ name: 'one' })];

upkeep.before.each((stage) => {
  stage.dataDir = mkdtempSync(join(tmpdir(), 'quayside-watch-'));
  stage.clock = handClock();
  stage.temp = openTempDatabase();
});
upkeep.after.each(({ dataDir, temp }) => {
  temp.close();
  rmSync(dataDir, { recursive: true, force: true });
});

upkeep('no proved backup for days, or a night that failed, raises an alarm that ends by itself', async (stage) => {
  const { dataDir, clock, temp } = stage;
  const backup = { ...nothing, nightly: '03:15' };
  const watch = watchUpkeep(temp.database.blocks, { dataDir, backup, networks, sandbox: true });
  const bench = watched(watch, temp.database, clock);
  const made = () => {
    const [atMs, sent_at_ms] = [clock.nowMs(), null];
    updateBackupReport(dataDir, () => ({ newest: { file: 'f', made_at_ms: atMs, proved_at_ms: atMs, sent_at_ms } }));
  };
  assert.equal(await bench.look(), []);
  assert.equal(await bench.after(47 * HOUR_MS), [], 'the first night may be yet to come');
  assert.equal(await bench.after(2 * HOUR_MS), ['backup_unproved']);
  made();
  assert.equal(await bench.after(3 * MINUTE_MS, MINUTE_MS), []);
  const failure = { at_ms: clock.nowMs(), message: 'the disk was full' };
  updateBackupReport(dataDir, () => ({ failure }));
  assert.equal(await bench.look(), ['backup_unproved']);
  assert.match((await bench.open())[0]?.message ?? '', 'the disk was full');
  updateBackupReport(dataDir, () => ({ failure: null }));
  assert.equal(await bench.after(3 * MINUTE_MS, MINUTE_MS), []);
  assert.equal(await bench.after(49 * HOUR_MS), ['backup_unproved']);
});

upkeep('a network that was not compared for two nights raises an alarm, which ends with the next', async (stage) => {
  const { dataDir, clock, temp } = stage;
  const { database } = temp;
  const config = { dataDir, backup: nothing, networks, sandbox: false };
  const bench = watched(watchUpkeep(database.blocks, config), database, clock);
  const compare = () =>
    database.blocks.recordComparison({
      network: 'test:one',
      from: 1,
      through: 1,
      comparedAtMs: clock.nowMs(),
      blocks: 1,
      transfers: 0,
      differences: 0,
    });
  assert.equal(await bench.look(), []);
  assert.equal(await bench.after(48 * HOUR_MS), [], 'the first night may be yet to come');
  await compare();
  assert.equal(await bench.after(48 * HOUR_MS), []);
  assert.equal(await bench.after(2 * HOUR_MS), ['comparison_stale']);
  await compare();
  assert.equal(await bench.after(HOUR_MS, HOUR_MS / 4), []);
});

upkeep('nothing is watched that the settings leave out', async ({ dataDir, clock, temp }) => {
  const watch = watchUpkeep(temp.database.blocks, { dataDir, backup: nothing, networks, sandbox: true });
  const bench = watched(watch, temp.database, clock);
  await bench.look();
  assert.equal(await bench.after(100 * HOUR_MS), []);
});

upkeep.run();
