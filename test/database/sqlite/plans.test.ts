/** Every prepared statement finds its rows by an index: none scans a table that grows. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openTempDatabase } from '../../support/temp-database.ts';

/** Tables with few rows, however long the program runs. */
const small = [
  'networks',
  'payout_engines',
  'stores',
  'pools',
  'session_counts',
  'meta',
  'migrations',
  'sqlite_schema',
  'CONSTANT',
];
/** Inner results with their own limit. */
const bounded = ['sets'];
/** Indexes that hold only rows in a temporary state: requested resends, endpoints just enabled, and the like. */
const smallIndexes = ['endpoints_resuming', 'deliveries_manual', 'transfers_unconfirmed', 'webhook_secrets_empty'];
/** Serves lists for people; a prepared statement that used it would scan the whole backlog. */
const forLists = 'deliveries_by_state';

test('no prepared statement scans', () => {
  const statements = new Set<string>();
  const prepare = Sqlite.prototype.prepare;
  Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
    statements.add(text);
    return prepare.call(this, text);
  } as typeof prepare;
  const place = openTempDatabase();
  Sqlite.prototype.prepare = prepare;
  const client = new Sqlite(place.file);
  try {
    const explained = [...statements].filter((text) => /^\s*(select|update|delete|with)\b/i.test(text));
    assert.ok(explained.length > 30, `${explained.length} statements were seen`);
    const scans = explained.flatMap((text) => {
      const names = [...new Set(text.match(/:\w+/g) ?? [])].map((name) => [name.slice(1), 1]);
      const holes = Array.from({ length: text.match(/\?/g)?.length ?? 0 }, () => 1);
      const steps = client.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...holes, Object.fromEntries(names)) as {
        detail: string;
      }[];
      return steps
        .map(({ detail }) => detail)
        .filter((detail) => detail.startsWith('SCAN') || detail.includes(forLists))
        .filter((detail) => ![...small, ...bounded].includes(detail.split(' ')[1] ?? ''))
        .filter((detail) => !smallIndexes.some((name) => detail.includes(name)))
        .map((detail) => `${detail}: ${text}`);
    });
    assert.equal(scans, []);
  } finally {
    client.close();
    place.close();
  }
});

test.run();
