/** The marks beside the database, and a database that was put back from a backup. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AddressMarks,
  addressMarksFile,
  openAddressMarks,
  retireGivenAddresses,
} from '../../src/app/address-marks.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/engine/migrate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { testNetwork } from '../support/test-network.ts';

const evm = { family: 'evm', mode: 'test', source: 'xpub one' } as const;
const tron = { family: 'tron', mode: 'live', source: 'xpub “two”' } as const;
const network = testNetwork({ name: 'one' });
const store = merchantStore();
const keyOf = (n: number) => n.toString(16).padStart(40, '0');

async function inFolder(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-marks-'));
  try {
    await work(dataDir);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

test('marks rise, are kept for each source, and are found again', () =>
  inFolder(async (dataDir) => {
    const file = addressMarksFile(dataDir);
    const marks = openAddressMarks(file);
    assert.equal(marks.all(), []);
    await marks.cover([
      { ...evm, index: 0 },
      { ...tron, index: 41 },
    ]);
    await marks.cover([{ ...evm, index: 1 }]);
    await marks.cover([{ ...tron, index: 7 }]);
    marks.close();
    assert.is(statSync(file).mode & 0o777, 0o600);
    assert.is(statSync(file).size, 2 * 512);
    const again = openAddressMarks(file);
    assert.equal(again.all(), [
      { ...evm, through: 2 },
      { ...tron, through: 42 },
    ]);
    again.close();
  }));

test('a damaged file is refused with its name and what to do', () =>
  inFolder(async (dataDir) => {
    const file = addressMarksFile(dataDir);
    const marks = openAddressMarks(file);
    await marks.cover([{ ...evm, index: 5 }]);
    marks.close();
    const good = readFileSync(file, 'utf8');
    for (const bad of [good.slice(0, 300), good.replace('0', 'x'), `${good}x`]) {
      writeFileSync(file, bad);
      assert.throws(
        () => openAddressMarks(file),
        (error: Error & { code?: string }) =>
          error.code === 'address_marks_unreadable' &&
          error.message.includes(file) &&
          /delete the file/.test(error.message),
      );
    }
  }));

type Installation = Readonly<{ database: Database; marks: AddressMarks; close(): void }>;

/** What the server does when it starts. */
async function start(dataDir: string): Promise<Installation> {
  const file = join(dataDir, 'quayside.db');
  migrate({ file, backupDir: join(dataDir, 'backups') });
  const marks = openAddressMarks(addressMarksFile(dataDir));
  const database = openSqliteDatabase({
    file,
    secretKey: new Uint8Array(32).fill(7),
    busyTimeoutMs: 5000,
    bytesMax: null,
    outageWaitS: 600,
    afterTake: marks.cover,
  });
  await retireGivenAddresses({ database, marks, clock: systemClock, log: openLog('test', 'silent') });
  const close = () => {
    database.close();
    marks.close();
  };
  return { database, marks, close };
}

async function begin(dataDir: string): Promise<Installation> {
  const first = await start(dataDir);
  await first.database.stores.create(store);
  const keys = Array.from({ length: 20 }, (_, n) => keyOf(n));
  await first.database.addresses.add({ ...evm, firstIndex: 0, keys });
  const chain = ingestedChain(() => first.database, systemClock, network);
  await chain.mine();
  await chain.report('following');
  return first;
}

test('an address whose mark cannot be written is shown to nobody', () =>
  inFolder(async (dataDir) => {
    const first = await begin(dataDir);
    first.marks.close();
    const wish = { storeId: store.id, networks: [network], amountMinor: 1000, nowMs: systemClock.nowMs() };
    for (const time of ['created', 'replayed']) {
      const asked = first.database.sessions.create(newSession({ ...wish, name: 'a' }));
      assert.is(await asked.catch(({ code }) => code), 'storage_unavailable', time);
    }
    assert.is((await first.database.addresses.level(evm, evm.source)).free, 19, 'it took one address');
    first.database.close();
  }));

test.run();
