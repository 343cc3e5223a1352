/** Integers of any size survive the file exactly. */
import Sqlite from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { units } from '../../../src/database/sqlite/column-types.ts';
import { preparedInsert } from '../../../src/database/sqlite/prepared.ts';

test('every integer is read back unchanged, is text in the file, and null stays null', () => {
  const client = new Sqlite(':memory:');
  client.exec('CREATE TABLE sums (id INTEGER PRIMARY KEY, sum TEXT NOT NULL, maybe TEXT) STRICT');
  const sums = sqliteTable('sums', { id: integer().primaryKey(), sum: units().notNull(), maybe: units() });
  const orm = drizzle(client);
  const insert = preparedInsert({ orm }, sums, ['id']);
  const any = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
  fc.assert(
    fc.property(any, fc.option(any), (sum, maybe) => {
      const { lastInsertRowid } = insert({ sum, maybe });
      const row = orm.select().from(sums).all().at(-1);
      assert.equal(row, { id: Number(lastInsertRowid), sum, maybe });
      assert.is(client.prepare('SELECT sum FROM sums ORDER BY id DESC').pluck().get(), sum.toString());
      client.exec('DELETE FROM sums');
    }),
    {
      examples: [
        [0n, null],
        [2n ** 63n, 2n ** 256n - 1n],
      ],
    },
  );
  client.close();
});

test.run();
