/**
 * A database as a shop leaves it after a year: a million sessions, with what the dashboard's pages read.
 * @module
 */
import Sqlite from 'better-sqlite3';
import { QUARTER_MS } from '../../src/database/credit-totals.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { newSessionId } from '../../src/lib/session-id.ts';

const YEAR_DAYS = 365;
/** Quarters of an hour with payments: the page of a busy shop adds up all of a month. */
const QUARTERS = 3_000;
const AUDIT_ROWS = 100_000;

/** What differs from one session to the next; everything else is as in the first session of the database. */
const differing: Readonly<Record<string, string>> = {
  id: 'new_id(:firstMs + i * :stepMs)',
  order_id: `'order-' || printf('%07d', i)`,
  created_at_ms: ':firstMs + i * :stepMs',
  expires_at_s: '(:firstMs + i * :stepMs) / 1000 + 1800',
  amount_minor: 'CAST(100 + i * 7919 % 50000 AS TEXT)',
  due_par: `CAST(100 + i * 7919 % 50000 AS TEXT) || '0000000000000000'`,
  confirmed_par: `CASE WHEN i % 10 < 6 THEN CAST(100 + i * 7919 % 50000 AS TEXT) || '0000000000000000' ELSE '0' END`,
  status: `CASE WHEN i % 10 < 6 THEN 'paid' WHEN i % 10 < 9 THEN 'expired' ELSE 'canceled' END`,
  paid_at_s: 'CASE WHEN i % 10 < 6 THEN (:firstMs + i * :stepMs) / 1000 + 60 END',
  canceled_at_s: 'CASE WHEN i % 10 = 9 THEN (:firstMs + i * :stepMs) / 1000 + 60 END',
  ended_at_s: '(:firstMs + i * :stepMs) / 1000 + 1800',
  funded: `CASE WHEN i % 10 < 6 THEN 'full' ELSE 'none' END`,
  firm: `CASE WHEN i % 10 < 6 THEN 'final' ELSE 'none' END`,
  touched: 'i % 10 < 6',
  deadline_s: 'NULL',
};

/** Fills the counts of sessions by quarter of an hour from the sessions. */
export const sessionTotals: readonly string[] = [
  'DELETE FROM session_totals',
  `INSERT INTO session_totals
     SELECT store_id, mode, created_at_ms / ${QUARTER_MS}, count(*), sum(status = 'paid'),
       sum(status IN ('expired', 'canceled', 'failed')) FROM sessions GROUP BY 1, 2, 3`,
];

/**
 * Adds sessions of the past year to the database of an installation that does not run, with an event each, the
 * totals, and an audit log.
 * @param dataDir the installation has one session at least, of its first store
 */
export function addSessions(dataDir: string, sessions: number, nowMs: number): void {
  const client = new Sqlite(databaseFile(dataDir));
  try {
    client.pragma('synchronous = OFF');
    client.function('new_id', (atMs) => newSessionId(Number(atMs)));
    const columns = client.prepare(`SELECT name FROM pragma_table_info('sessions')`).pluck().all() as string[];
    const [storeId, mode, firstId] = client.prepare('SELECT store_id, mode, id FROM sessions').raw().get() as string[];
    const rows = { sessions, firstId, storeId, mode, nowMs, quarterMs: QUARTER_MS, auditRows: AUDIT_ROWS };
    const year = { firstMs: nowMs - YEAR_DAYS * DAY_MS, stepMs: Math.floor((YEAR_DAYS * DAY_MS) / sessions) - 1 };
    const count = (max: string) => `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${max})`;
    const fill = [
      `${count(':sessions')} INSERT INTO sessions (${columns.join(', ')})
         SELECT ${columns.map((name) => differing[name] ?? `s.${name}`).join(', ')} FROM n, sessions AS s WHERE s.id = :firstId`,
      `INSERT INTO events (id, store_id, session_id, type, body, created_at_ms, mode)
         SELECT 'evt_' || (created_at_ms * 1000000 + row_number() OVER (ORDER BY id) % 1000000), store_id, id,
           CASE status WHEN 'paid' THEN 'payment.completed' WHEN 'expired' THEN 'payment.expired' ELSE 'payment.canceled' END,
           '{}', created_at_ms, mode FROM sessions WHERE order_id LIKE 'order-%' AND id <> :firstId`,
      `${count(String(QUARTERS))} INSERT OR IGNORE INTO quarter_totals (store_id, mode, quarter, network, currency, credits, credited_par, reversals,
           reversed_par)
         SELECT :storeId, :mode, :nowMs / :quarterMs - i, networks.key, currency, 400, '1234560000000000000000', 0, '0'
         FROM n, networks, (SELECT 'USDT' AS currency UNION SELECT 'USDC')`,
      `${count(':auditRows')} INSERT INTO audit_log (at_ms, operator, command, target, before, after, reason)
         SELECT :nowMs, 'root', 'refunds approve', 'rf_' || i, NULL, '{"approved":true}', NULL FROM n`,
    ];
    for (const text of fill) {
      const statement = client.prepare(text);
      const used = Object.entries({ ...rows, ...year }).filter(([name]) => new RegExp(`:${name}\\b`).test(text));
      // A bigint is bound as an integer, a number as a real one.
      const bound = used.map(([name, value]) => [name, typeof value === 'number' ? BigInt(value) : value]);
      statement.run(Object.fromEntries(bound));
    }
    for (const text of sessionTotals) client.exec(text);
    client.exec('ANALYZE');
    client.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    client.close();
  }
}
