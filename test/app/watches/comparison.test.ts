import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchComparison } from '../../../src/app/watches/comparison.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { watched } from '../../support/watched.ts';

const HOUR_MS = 3_600_000;
const networks = [testNetwork({ name: 'one' })];

test('a network that was not compared for two nights raises an alarm, which ends with the next night', async () => {
  const { database, close } = openTempDatabase();
  const clock = handClock();
  const bench = watched(watchComparison(database.blocks, { networks, sandbox: false }), database, clock);
  const compare = () =>
    database.blocks.recordComparison({
      ...{ network: 'test:one', from: 1, through: 1, comparedAtMs: clock.nowMs(), blocks: 1, transfers: 0 },
      ...{ differs: null, differences: 0, message: null },
    });
  try {
    assert.equal(await bench.look(), []);
    assert.equal(await bench.after(48 * HOUR_MS), [], 'the first night may be yet to come');
    await compare();
    assert.equal(await bench.after(48 * HOUR_MS), []);
    assert.equal(await bench.after(2 * HOUR_MS), ['comparison_stale']);
    await compare();
    assert.equal(await bench.after(HOUR_MS, HOUR_MS / 4), []);
  } finally {
    close();
  }
});

test('nothing is watched where blocks are never compared', async () => {
  const { database, close } = openTempDatabase();
  const bench = watched(watchComparison(database.blocks, { networks, sandbox: true }), database, handClock());
  try {
    await bench.look();
    assert.equal(await bench.after(100 * HOUR_MS), []);
  } finally {
    close();
  }
});

test.run();
