/**
 * Rows that are there once because a constraint of the schema says so, whatever two commands at once have looked for.
 * Engines have found their races before these do; whatever they overlook ends here.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openTempDatabase } from '../../support/temp-database.ts';

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
  'events id',
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
  'transfers block_id tx position',
  'wallet_books network',
];

test('what pays, is paid or is given out once is unique', () => {
  const place = openTempDatabase(600, null);
  const client = new Sqlite(place.file, { readonly: true });
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
  const missing = once.filter((line) => !isThere(line));
  client.close();
  place.close();
  assert.equal(missing, []);
});

test.run();
