/**
 * A database as a shop leaves it after a year, with everything that its sessions leave: addresses, transfers, blocks,
 * events, deliveries, attempts and the ledger. Half of the sessions are paid. Rows are copies of those of two real
 * sessions with other ids, addresses, times and MACs, so that the ledger adds up as in any installation.
 * @module
 */
import { createHash } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { QUARTER_MS } from '../../src/database/credit-totals.ts';
import { createDataKeys } from '../../src/database/sqlite/data-keys.ts';
import { macedAddress } from '../../src/database/sqlite/pool.ts';
import { createRowMacs } from '../../src/database/sqlite/row-macs.ts';
import { macedTransfer } from '../../src/database/sqlite/transfers.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { databaseFile, readSecretKeys } from '../../src/lib/secret-key.ts';
import { newSessionId } from '../../src/lib/session-id.ts';
import { sessionTotals } from './million-sessions.ts';

const YEAR_DAYS = 365;
const CACHE_KIB = 1_000_000;
const PER_MS = 1_000_000;

type Template = Readonly<{ paid: string; unpaid: string }>;

/** Moves a time of a template to that of its copy: `made` is the copy, `t` the template's session. */
const shifted = (column: string): string =>
  column.endsWith('_ms')
    ? `${column} + made.at_ms - t.created_at_ms`
    : `${column} + (made.at_ms - t.created_at_ms) / 1000`;

/** Of each table that a session has rows in: where they are, and the columns that differ from one copy to the next. */
const tables: readonly Readonly<{ name: string; from: string; differing: Readonly<Record<string, string>> }>[] = [
  {
    name: 'sessions',
    from: 'sessions AS x ON x.id = t.id',
    differing: {
      id: 'made.id',
      order_id: `'order-' || printf('%07d', made.i)`,
      body_hash: 'other(made.i, x.body_hash)',
      ...Object.fromEntries(
        ['created_at_ms', 'expires_at_s', 'ended_at_s', 'paid_at_s', 'canceled_at_s'].map((name) => [
          name,
          shifted(`x.${name}`),
        ]),
      ),
    },
  },
  {
    name: 'addresses',
    from: 'addresses AS x ON x.session_id = t.id',
    differing: {
      id: 'NULL',
      key: 'other(made.i, x.key)',
      derivation_index: 'x.derivation_index + made.i * 1000',
      session_id: 'made.id',
      mac: 'address_mac(x.family, x.mode, other(made.i, x.key), x.pool_id, x.derivation_index + made.i * 1000, made.id)',
    },
  },
  {
    name: 'blocks',
    from: 'addresses AS a ON a.session_id = t.id JOIN transfers AS p ON p.address_id = a.id JOIN blocks AS x ON x.id = p.block_id',
    differing: {
      id: 'made.i * 10 + 1000000',
      hash: 'other(made.i, x.hash)',
      parent: 'other(made.i, x.parent)',
      number: 'made.i - 10000000',
      time_s: shifted('x.time_s'),
    },
  },
  {
    name: 'transfers',
    from: `addresses AS a ON a.session_id = t.id JOIN transfers AS x ON x.address_id = a.id
      JOIN addresses AS own ON own.family = a.family AND own.mode = a.mode AND own.key = other(made.i, a.key)`,
    differing: {
      id: 'made.i * 10 + 1000000',
      block_id: 'made.i * 10 + 1000000',
      tx: 'other(made.i, x.tx)',
      address_id: 'own.id',
      first_confirmed_at_ms: shifted('x.first_confirmed_at_ms'),
      mac: `transfer_mac(made.i * 10 + 1000000, other(made.i, x.tx), x.position, x.network, x.currency, x.from_key, own.id,
        x.units, x.decimals)`,
    },
  },
  {
    name: 'events',
    from: 'events AS x ON x.session_id = t.id',
    differing: {
      id: 'moved_event(x.id, made.at_ms - t.created_at_ms, made.i)',
      session_id: 'made.id',
      body: 'replace(replace(x.body, t.id, made.id), x.id, moved_event(x.id, made.at_ms - t.created_at_ms, made.i))',
      created_at_ms: shifted('x.created_at_ms'),
    },
  },
  {
    name: 'deliveries',
    from: 'deliveries AS x ON x.session_id = t.id',
    differing: {
      id: `'dlv_' || other(made.i, substr(x.id, 5))`,
      event_id: 'moved_event(x.event_id, made.at_ms - t.created_at_ms, made.i)',
      created_at_ms: shifted('x.created_at_ms'),
      session_id: 'made.id',
    },
  },
  {
    name: 'attempts',
    from: 'deliveries AS d ON d.session_id = t.id JOIN attempts AS x ON x.delivery_id = d.id',
    differing: {
      id: 'NULL',
      delivery_id: `'dlv_' || other(made.i, substr(d.id, 5))`,
      started_at_ms: shifted('x.started_at_ms'),
    },
  },
  {
    name: 'ledger_entries',
    from: `addresses AS a ON a.session_id = t.id JOIN transfers AS p ON p.address_id = a.id
      JOIN ledger_entries AS x ON x.kind = 'payment' AND x.cause = CAST(p.id AS TEXT)`,
    differing: {
      id: 'made.i * 10 + 1000000',
      cause: 'CAST(made.i * 10 + 1000000 AS TEXT)',
      at_ms: shifted('x.at_ms'),
    },
  },
  {
    name: 'ledger_postings',
    from: `addresses AS a ON a.session_id = t.id JOIN transfers AS p ON p.address_id = a.id
      JOIN ledger_entries AS e ON e.kind = 'payment' AND e.cause = CAST(p.id AS TEXT)
      JOIN ledger_postings AS x ON x.entry_id = e.id`,
    differing: { entry_id: 'made.i * 10 + 1000000', subject: 'iif(x.subject = t.id, made.id, x.subject)' },
  },
  { name: 'session_assets', from: 'session_assets AS x ON x.session_id = t.id', differing: { session_id: 'made.id' } },
];

/** What is kept beside the rows: how sessions ended, how far pools were given out, and sums by time. */
const totals: readonly string[] = [
  // Ids rise with time, and the attempts of the two that were copied are the newest.
  `UPDATE attempts SET id = id + (SELECT max(id) FROM attempts) WHERE delivery_id IN (
     SELECT id FROM deliveries WHERE session_id IN (:paid, :unpaid))`,
  'UPDATE session_counts SET sessions = (SELECT count(*) FROM sessions WHERE status = session_counts.status)',
  `UPDATE pools SET taken = (SELECT count(*) FROM addresses WHERE pool_id = pools.id AND state = 'taken'),
     next_index = (SELECT max(derivation_index) + 1 FROM addresses WHERE pool_id = pools.id)`,
  ...sessionTotals,
  'DELETE FROM quarter_totals',
  `INSERT INTO quarter_totals
     SELECT s.store_id, s.mode, e.at_ms / ${QUARTER_MS}, t.network, t.currency, count(*),
       par_of(sum(CAST(t.units AS INTEGER)), t.decimals), 0, '0'
     FROM ledger_entries AS e JOIN transfers AS t ON t.id = CAST(e.cause AS INTEGER) JOIN addresses AS a ON a.id = t.address_id
     JOIN sessions AS s ON s.id = a.session_id WHERE e.kind = 'payment' GROUP BY 1, 2, 3, 4, 5, t.decimals`,
];

/**
 * Adds sessions of the past year to the database of an installation that does not run.
 * @param template two of its sessions, each with what it left: one that was paid by one transfer, one that ended unpaid
 * @param onTable called before the rows of each table are added
 */
export function addYear(
  dataDir: string,
  sessions: number,
  template: Template,
  nowMs: number,
  onTable: (done: number, of: number) => void,
): void {
  const client = new Sqlite(databaseFile(dataDir));
  try {
    client.pragma('synchronous = OFF');
    // Each page is written once, and not to the log first.
    client.pragma('journal_mode = MEMORY');
    client.pragma(`cache_size = -${CACHE_KIB}`);
    client.pragma('temp_store = MEMORY');
    addFunctions(client, dataDir);
    client.exec('CREATE TEMP TABLE made (i INTEGER PRIMARY KEY, template TEXT, id TEXT, at_ms INTEGER)');
    client
      .prepare(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :sessions)
         INSERT INTO made SELECT i, iif(i % 2 = 0, :paid, :unpaid), new_id(:firstMs + i * :stepMs), :firstMs + i * :stepMs FROM n`,
      )
      .run({
        ...template,
        sessions: BigInt(sessions),
        firstMs: BigInt(nowMs - YEAR_DAYS * DAY_MS),
        stepMs: BigInt(Math.floor(((YEAR_DAYS - 1) * DAY_MS) / sessions)),
      });
    client.pragma('foreign_keys = OFF');
    for (const [at, { name, from, differing }] of tables.entries()) {
      onTable(at, tables.length);
      const columns = client.prepare(`SELECT name FROM pragma_table_info('${name}')`).pluck().all() as string[];
      const values = columns.map((column) => differing[column] ?? `x.${column}`);
      // The template's rows are few: they are looked up for each copy, in the order of the copies.
      client.exec(
        `INSERT INTO ${name} (${columns.join(', ')}) SELECT ${values.join(', ')}
         FROM made CROSS JOIN main.sessions AS t ON t.id = made.template CROSS JOIN ${from.replaceAll(' JOIN ', ' CROSS JOIN ')}`,
      );
    }
    for (const text of totals) client.prepare(text).run(text.includes(':paid') ? template : {});
    onTable(tables.length, tables.length);
    client.exec('ANALYZE');
    client.pragma('journal_mode = WAL');
  } finally {
    client.close();
  }
}

function addFunctions(client: Sqlite.Database, dataDir: string): void {
  const keys = createDataKeys({ client }, readSecretKeys(dataDir, process.env));
  // Read once: no query runs within another one.
  const version = keys.current();
  const macs = createRowMacs({ ...keys, current: () => version });
  const add = (name: string, work: (...args: never[]) => unknown) =>
    client.function(name, { deterministic: true, varargs: true }, work as (...args: unknown[]) => unknown);
  client.function('new_id', (atMs) => newSessionId(Number(atMs)));
  add('other', (i: number, text: string) => {
    const prefix = text.startsWith('0x') ? '0x' : '';
    const hex = createHash('sha512').update(`${i} ${text}`).digest('hex');
    return prefix + hex.slice(0, text.length - prefix.length);
  });
  add('moved_event', (id: string, byMs: number, i: number) => {
    const ms = Math.floor(Number(id.slice(4, -6))) + byMs;
    return `evt_${ms}${String(i % PER_MS).padStart(6, '0')}`;
  });
  add('par_of', (units: number, decimals: number) => String(BigInt(units) * 10n ** BigInt(18 - decimals)));
  add(
    'address_mac',
    (family: 'evm', mode: 'test', key: string, poolId: number, derivationIndex: number, sessionId: string) =>
      macs.seal(macedAddress({ family, mode, key, poolId, derivationIndex, sessionId })),
  );
  add(
    'transfer_mac',
    (
      blockId: number,
      tx: string,
      position: number,
      network: NetworkKey,
      currency: 'USDT',
      fromKey: string,
      addressId: number,
      units: string,
      decimals: number,
    ) =>
      macs.seal(
        macedTransfer({ blockId, tx, position, network, currency, fromKey, addressId, units: BigInt(units), decimals }),
      ),
  );
}
