import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Room, readRoom, watchDisk } from '../../../src/app/watches/disk.ts';
import { Fault } from '../../../src/core/fault.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, watched } from '../../support/watched.ts';

const MIB = 1 << 20;
const bounds = { bytesMin: 1000 * MIB, storageBytesMax: null };

test('a disk that fills raises an alarm at the bound, which ends when enough is free', async () => {
  const { database, close } = openTempDatabase();
  let room: Room = { freeBytes: 1000 * MIB, usedBytes: 0 };
  const bench = watched(
    watchDisk('/data', bounds, async () => room),
    database,
    handClock(),
  );
  try {
    assert.equal(await bench.look(), []);
    room = { ...room, freeBytes: 999 * MIB };
    assert.equal(await bench.look(), ['disk_filling']);
    const [alarm] = await bench.open();
    assert.match(alarm?.message ?? '', /^the disk of \/data has 999 MiB left, and 1000 MiB should be\. .*503|refused/);
    room = { ...room, freeBytes: 1000 * MIB };
    await bench.look();
    assert.equal(await bench.after(CALM_MS), []);
  } finally {
    close();
  }
});

test('the limit of the database’s own size counts too, when less than a tenth of it is left', async () => {
  const { database, close } = openTempDatabase();
  let room: Room = { freeBytes: 9000 * MIB, usedBytes: 89 * MIB };
  const watch = watchDisk('/data', { ...bounds, storageBytesMax: 100 * MIB }, async () => room);
  const bench = watched(watch, database, handClock());
  try {
    assert.equal(await bench.look(), []);
    room = { ...room, usedBytes: 91 * MIB };
    assert.equal(await bench.look(), ['disk_filling']);
    assert.match((await bench.open())[0]?.message ?? '', /the database has 9 MiB left up to limits\.storage_bytes_max/);
  } finally {
    close();
  }
});

test('the room of a real folder is read; one that is not there is a fault that passes', async () => {
  const { freeBytes, usedBytes } = await readRoom(process.cwd());
  assert.ok(freeBytes > 0);
  assert.is(usedBytes, 0, 'no database here');
  const fault = await readRoom('/nowhere/at/all').catch((error: unknown) => error);
  assert.ok(fault instanceof Fault && fault.kind === 'transient' && fault.code === 'disk_unreadable');
});

test.run();
