import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readRoom, watchDisk } from '../../../src/app/watches/disk.ts';
import { Fault } from '../../../src/core/fault.ts';
import { closing } from '../../support/closing.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, watched } from '../../support/watched.ts';

const MIB = 1 << 20;

test('a disk that fills raises an alarm at the bound, which ends when enough is free', async () => {
  const { database } = closing(openTempDatabase());
  let freeBytes = 1000 * MIB;
  const bench = watched(
    watchDisk('/data', 1000 * MIB, async () => ({ freeBytes, usedBytes: 0 })),
    database,
    handClock(),
  );
  assert.equal(await bench.look(), []);
  freeBytes = 999 * MIB;
  assert.equal(await bench.look(), ['disk_filling']);
  const [alarm] = await bench.open();
  assert.match(
    alarm?.message ?? '',
    /^the disk of \/data has 999 MiB free, and needs at least 1000 MiB\. .*503|refused/,
  );
  freeBytes = 1000 * MIB;
  await bench.look();
  assert.equal(await bench.after(CALM_MS), []);
});

test('the room of a real folder is read; one that is not there is a fault that passes', async () => {
  const { freeBytes, usedBytes } = await readRoom(process.cwd());
  assert.ok(freeBytes > 0);
  assert.is(usedBytes, 0, 'no database here');
  const fault = await readRoom('/nowhere/at/all').catch((error: unknown) => error);
  assert.ok(fault instanceof Fault && fault.kind === 'transient' && fault.code === 'disk_unreadable');
});

test.run();
