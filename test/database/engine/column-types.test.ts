/** Integers of any size, and the terms of sessions, survive the file exactly. */
import Sqlite from 'better-sqlite3';
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import {
  readBigJson,
  readSessionTerms,
  type SessionTerms,
  sessionTerms,
  units,
  writeBigJson,
} from '../../../src/database/engine/column-types.ts';
import { openSqlite } from '../../../src/database/engine/open.ts';
import { findRow, insertRow } from '../../../src/database/engine/rows.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

/** Opens a file with one more table. */
function openWith(table: string) {
  const place = openTempDatabase();
  const db = openSqlite({ file: place.file, busyTimeoutMs: 1_000 });
  const raw = new Sqlite(place.file);
  raw.exec(table);
  return {
    ...db,
    raw,
    close() {
      raw.close();
      db.close();
      place.close();
    },
  };
}

test('every integer is read back unchanged, is text in the file, and null stays null', async () => {
  const db = openWith('CREATE TABLE sums (id INTEGER PRIMARY KEY, sum TEXT NOT NULL, maybe TEXT) STRICT');
  const sums = sqliteTable('sums', { id: integer().primaryKey(), sum: units().notNull(), maybe: units() });
  const any = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
  await fc.assert(
    fc.asyncProperty(any, fc.option(any), async (sum, maybe) => {
      await db.write(() => insertRow(db, sums, { id: 0, sum, maybe }));
      const row = await db.read(() => findRow(db, sums, { sum, id: 0 }));
      assert.equal(row, { id: 0, sum, maybe });
      assert.is(db.raw.prepare('SELECT sum FROM sums ORDER BY id DESC').pluck().get(), sum.toString());
      db.raw.exec('DELETE FROM sums');
    }),
    {
      examples: [
        [0n, null],
        [2n ** 63n, 2n ** 256n - 1n],
      ],
    },
  );
  db.close();
});

test('the terms of a session are read as they were written, and refused once something is missing', async () => {
  const db = openWith('CREATE TABLE kept (id INTEGER PRIMARY KEY, terms TEXT NOT NULL) STRICT');
  const kept = sqliteTable('kept', { id: integer().primaryKey(), terms: sessionTerms().notNull() });
  const option = {
    networkKey: 'test:one',
    network: 'one',
    family: 'evm',
    chainId: '1',
    confirmationsRequired: 1,
    currency: 'USDT',
    token: '0x',
    decimals: 6,
    units: 10n ** 18n,
  };
  const terms = {
    duePar: 10n ** 30n,
    tolerancePar: 0n,
    accepts: ['USDT'],
    expiresAtS: 1,
    inclusionGraceS: { 'test:one': 2 },
    topUpGraceS: 3,
    monitoringS: 4,
    latePolicy: 'hold',
    taxMinor: 5n,
    shippingMinor: null,
    webhookUrl: '12',
    conversion: { rate: '1.5', currency: 'USDT', amountMinor: 7n, sources: ['1', '2'] },
    options: [option, { ...option, currency: 'USDC', decimals: 18, units: 10n ** 30n }],
  } as unknown as SessionTerms;
  await db.write(() => insertRow(db, kept, { id: 0, terms }));
  assert.equal((await db.read(() => findRow(db, kept, { id: 0 })))?.terms, terms);
  const written = JSON.parse(String(db.raw.prepare('SELECT terms FROM kept').pluck().get())) as unknown[];
  const required = written.findIndex((value) => Array.isArray(value) && Array.isArray(value[0])) + 1;
  assert.ok(required > 5, 'through the options');
  for (let at = 0; at < required; at++)
    assert.throws(
      () => readSessionTerms(JSON.stringify(written.toSpliced(at, 1))),
      (error: unknown) => error instanceof Fault && error.code === 'row_altered',
      String(at),
    );
  db.close();
});

test('a text that would be read as an integer is not written', () => {
  assert.equal(readBigJson(writeBigJson({ units: -5n, text: '5', more: ['n5', ''] })), {
    units: -5n,
    text: '5',
    more: ['n5', ''],
  });
  assert.throws(() => writeBigJson({ more: ['5n'] }), /would be read as an integer/);
});

test.run();
