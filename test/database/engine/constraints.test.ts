/**
 * The constraints of the schema: a row is there once, whatever two commands at once have looked for; it refers to rows
 * that are there; and it does not contradict itself. Code finds such rows first; what it overlooks ends here.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readScripts } from '../../../src/database/engine/migrate.ts';

/** Columns of which no two rows have the same values; after `where`, only the rows of which this is said. */
const once = [
  'addresses family mode key',
  'addresses family mode seq',
  'alarms key where ended_at_ms IS NULL',
  'blocks network hash',
  'blocks network number where canonical = 1',
  'counters owner',
  'deliveries event_id endpoint_id',
  'door_orders endpoint_id order_no',
  'door_orders paid_session_id',
  'held_money session_id kind',
  'lanes network payer',
  'leases name',
  'ledger_entries cause kind occurrence',
  'ledger_entries network seq',
  'ledger_postings network seq account subject asset',
  'networks number',
  'other_transfers payout_id transfer_id',
  'outgoing_transfers network block_hash tx position from_key',
  'own_wallets network key role',
  'payout_attempts network payer nonce where attempt = 0',
  'payout_attempts network payer where tx IS NULL',
  'payout_attempts payout_id generation attempt',
  'payout_attempts tx',
  'payout_engines network',
  'payout_freezes network code',
  'payouts id',
  'pools family mode where current = 1',
  'refund_addresses session_id network',
  'refunds claim_hash',
  'refunds id',
  'refunds store_id mode refund_id',
  'refunds store_id receipt_number',
  'replays scope key',
  'sessions id',
  "sessions store_id mode order_id where status = 'pending'",
  'sweep_parts payout_id derivation_index',
  'transfers tx block_id position',
  'wallet_books network',
];

/** Columns that name a row without a reference: it may not be there yet, be gone, or be a merchant's own. */
const unbound = ['addresses.session_id', 'alarms.session_id', 'door_orders.session_id', 'refunds.refund_id'];

/** The tables that columns refer to, where their names do not say it. */
const referred: Readonly<Record<string, string>> = {
  'blocks.network': 'networks',
  'ledger_postings.seq': 'ledger_entries',
  'transfers.network': 'networks',
  delivery_id: 'deliveries',
  paid_session_id: 'sessions',
  person_id: 'people',
  requested_by: 'people',
  serves_id: 'payouts',
  transfer_id: 'outgoing_transfers',
};
/** Rows that contradict themselves, by what they say beside the least that their table asks for. */
const contradictions: Readonly<Record<string, readonly object[]>> = {
  leases: [{ fence: 0 }],
  stores: [{ next_receipt_number: 0 }],
  people: [{ totp_secret: 's' }],
  pools: [{ retired_through: -1 }],
  addresses: [{ state: 'taken' }, { state: 'free', session_id: 's' }],
  sessions: [
    { status: 'pending', ended_at_s: 1 },
    { status: 'expired' },
    { status: 'paid', ended_at_s: 1 },
    { status: 'expired', ended_at_s: 1, deadline_s: 1 },
    { terms: 'x' },
    { sums: 'x' },
  ],
  networks: [{ number: 0 }, { number: 1000 }],
  transfers: [{ decimals: -1 }, { decimals: 19 }, { confirmed: 1 }],
  held_money: [{ id: 'x' }],
  ledger_entries: [{ occurrence: -1 }],
  ledger_postings: [{ units: '0' }, { units: '' }],
  endpoints: [
    { dialect: 'epay', pid: 1 },
    { dialect: 'epay', door: '{}' },
    { pid: 1 },
    { door: '{}' },
    { dialect: 'x', pid: 1, door: '{}' },
  ],
  deliveries: [
    { attempts: -1 },
    { due_at_ms: null },
    { state: 'failed' },
    { state: 'failed', due_at_ms: null, lease_until_ms: 1 },
  ],
  refunds: [
    { amount_minor: '0' },
    { amount_minor: '' },
    { units: '0' },
    { units: '' },
    { destination: 'd', mac: 'm' },
    { destination: 'd', destination_from: 'payer' },
    { status: 'processing' },
    { status: 'completed', destination: 'd', mac: 'm', destination_from: 'payer' },
    { receipt_number: 'r' },
    { status: 'failed' },
    { failure_reason: 'f' },
    { metadata: 'x' },
  ],
  payouts: [
    { generation: -1, proof: 'dead' },
    { generation: 1 },
    { proof: 'dead' },
    { wait_code: 'c' },
    { fault_message: 'f' },
    { state: 'failed' },
    { settled_at_ms: 1 },
    { intent: 'x' },
    { state: 'succeeded', settled_at_ms: 1, tx: 't' },
    { state: 'succeeded', settled_at_ms: 1, fee_units: '1' },
    { tx: 't' },
  ],
  payout_attempts: [
    { generation: -1 },
    { attempt: -2 },
    { nonce: -1 },
    { answer: 'a' },
    { tx: 't', signed_at_ms: 1 },
    { tx: 't', bytes: Buffer.of(1) },
    { sent_at_ms: 1 },
    { fee_units: '1' },
  ],
  lanes: [{ next_nonce: -1 }],
  payout_engines: [{ fence: -1 }, { journal_id: -1 }],
  outgoing_transfers: [{ units: '0' }, { units: '' }],
  wallet_books: [{ ledger_seq: -1 }],
  sweep_parts: [{ derivation_index: -1 }, { units: '0' }, { units: '' }],
};

/** Values that a row needs beside the columns that may not be empty. */
const needed: Readonly<Record<string, object>> = { deliveries: { due_at_ms: 1 }, payouts: { generation: 0 } };

type Column = Readonly<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>;

/** Returns the least that a table asks for: the first of named values, and 1 for anything else. */
function leastRow(client: Sqlite.Database, table: string): Record<string, unknown> {
  const schema = client.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(table) as string;
  const columns = client.prepare('SELECT * FROM pragma_table_info(?)').all(table) as Column[];
  const asked = columns.filter(({ notnull, dflt_value, pk }) => (notnull || pk) && dflt_value === null);
  return Object.fromEntries(
    asked.map(({ name, type }) => {
      const [, first] = new RegExp(`CHECK \\(${name} IN \\('?(\\w+)`).exec(schema) ?? [];
      const [, begins] = new RegExp(`CHECK \\(substr\\(${name}, .*= '(\\w+)'`).exec(schema) ?? [];
      return [name, begins ?? first ?? (type === 'BLOB' ? Buffer.of(1) : '1')];
    }),
  );
}

/** Runs a test on the tables of a new database. */
function onTables(title: string, work: (client: Sqlite.Database, tables: readonly string[]) => void): void {
  test(title, () => {
    const client = new Sqlite(':memory:');
    client.exec(readScripts().schema.text);
    client.pragma('foreign_keys = OFF');
    work(client, client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]);
    client.close();
  });
}

onTables('what pays, is paid or is given out once is unique', (client) => {
  const found = client
    .prepare(
      `SELECT tables.name AS "table", indexes.name AS "index", schema.sql FROM sqlite_schema AS tables
       JOIN pragma_index_list(tables.name) AS indexes LEFT JOIN sqlite_schema AS schema ON schema.name = indexes.name
       WHERE tables.type = 'table' AND indexes."unique" = 1`,
    )
    .all() as { table: string; index: string; sql: string | null }[];
  const columnsOf = client.prepare('SELECT name FROM pragma_index_info(?) ORDER BY seqno').pluck();
  const isThere = (line: string): boolean => {
    const [names, where] = line.split(' where ');
    return found.some(({ table, index, sql }) => {
      const isSame = [table, ...columnsOf.all(index)].join(' ') === names;
      return isSame && (where ? sql?.includes(where) : !sql?.includes(' WHERE '));
    });
  };
  assert.equal(
    once.filter((line) => !isThere(line)),
    [],
  );
});

onTables('a column that names a row refers to its table', (client, tables) => {
  const bound = client.prepare('SELECT "from" FROM pragma_foreign_key_list(?) WHERE "table" = ?').pluck();
  const columns = client.prepare('SELECT name FROM pragma_table_info(?)').pluck();
  const free = tables.flatMap((table) =>
    (columns.all(table) as string[])
      .filter((column) => {
        const stem = /^(\w+)_id$/.exec(column)?.[1] ?? '';
        const named = tables.find((one) => one === `${stem}s` || one === `${stem}es`);
        const parent = referred[`${table}.${column}`] ?? referred[column] ?? named;
        return parent && !bound.all(table, parent).includes(column);
      })
      .map((column) => `${table}.${column}`),
  );
  assert.equal(free.sort(), unbound);
});

onTables('a row that contradicts itself is refused', (client, tables) => {
  /** @returns the constraint that refuses the row */
  const insert = (table: string, row: object): string | null => {
    const names = Object.keys(row);
    try {
      client.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`).run(...Object.values(row));
      return null;
    } catch (error) {
      return String(error).replace(/.*CHECK constraint failed: /, '');
    }
  };
  const least = new Map(tables.map((table) => [table, { ...leastRow(client, table), ...needed[table] }]));
  const refused = Object.entries(contradictions).flatMap(([table, rows]) =>
    rows.map((row) => `${table}: ${insert(table, { ...least.get(table), ...row })}`),
  );
  for (const [table, row] of least) assert.is(insert(table, row), null, table);
  const checks = tables.flatMap((table) => {
    const sql = client.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(table) as string;
    return [...sql.matchAll(/CHECK \((.*?)\)(?=,$|,? --|$)/gm)].map(([, check]) => `${table}: ${check}`);
  });
  assert.equal(
    refused.filter((check) => !checks.includes(check)),
    [],
  );
  // `npm run tables` makes types of most others: lists of values, and JSON.
  const isTyped = (check: string) => /: \w+ IN \([^()]+\)$|: json_valid/.test(check);
  assert.equal(
    checks.filter((check) => !isTyped(check) && !refused.includes(check)),
    [],
  );
});

test.run();
