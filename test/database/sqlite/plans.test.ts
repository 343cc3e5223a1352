/** Every prepared statement finds its rows by an index: none scans a table that grows. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compilingAtOnce } from '../../../src/database/sqlite/prepared.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

/** Tables with few rows, however long the program runs. */
const small = [
  'networks',
  'notice_targets',
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
const bounded = ['sets', 'recent', '(subquery-1)', '(subquery-2)'];
/** Indexes that hold only what an operator added, or rows in a temporary state: requested resends, and the like. */
const smallIndexes = [
  'endpoints_of_store',
  'endpoints_resuming',
  'deliveries_manual',
  'transfers_unconfirmed',
  'webhook_secrets_empty',
  'sessions_by_deadline',
];
/** Serves lists for people; a prepared statement that used it without a range would scan the whole backlog. */
const isBacklog = (detail: string) => /deliveries_by_state(?! \(state=\? AND event_id>\?\))/.test(detail);

/** Opens a database and returns every query that it prepares, with the steps of its plan. */
function plans(): Map<string, string[]> {
  const statements = new Set<string>();
  const prepare = Sqlite.prototype.prepare;
  Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
    statements.add(text);
    return prepare.call(this, text);
  } as typeof prepare;
  const place = compilingAtOnce(() => openTempDatabase());
  Sqlite.prototype.prepare = prepare;
  const client = new Sqlite(place.file);
  try {
    const explained = [...statements].filter((text) => /^\s*(select|update|delete|with)\b/i.test(text));
    assert.ok(explained.length > 150, `${explained.length} statements were seen`);
    const plan = (text: string): string[] => {
      const names = [...new Set(text.match(/:\w+/g) ?? [])].map((name) => [name.slice(1), 1]);
      const holes = Array.from({ length: text.match(/\?/g)?.length ?? 0 }, () => 1);
      const steps = client.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...holes, Object.fromEntries(names)) as {
        detail: string;
      }[];
      return steps.map(({ detail }) => detail);
    };
    return new Map(explained.map((text) => [text, plan(text)]));
  } finally {
    client.close();
    place.close();
  }
}

test('no prepared statement scans', () => {
  const scans = [...plans()].flatMap(([text, steps]) =>
    steps
      .filter((detail) => detail.startsWith('SCAN') || isBacklog(detail))
      .filter((detail) => ![...small, ...bounded].includes(detail.split(' ')[1] ?? ''))
      .filter((detail) => !smallIndexes.some((name) => detail.includes(name)))
      .map((detail) => `${detail}: ${text}`),
  );
  assert.equal(scans, []);
});

test('a page of events is read from an index that has its order and its filter', () => {
  const pages = [...plans()].filter(([text]) => /^\s*select .*body.* from events .*order by/is.test(text));
  assert.is(pages.length, 4, 'by type or not, from either end');
  for (const [text, steps] of pages) {
    const isByType = text.includes('type = :type');
    assert.is(steps.length, 1, `${steps}: ${text}`);
    const index = isByType
      ? /events_by_type \(store_id=\? AND mode=\? AND type=\?/
      : /events_by_mode \(store_id=\? AND mode=\?/;
    assert.match(String(steps[0]), index);
    assert.match(String(steps[0]), /id>\? AND id<\?\)/);
  }
});

test.run();
