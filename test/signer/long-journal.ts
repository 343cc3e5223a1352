/**
 * A signer's journal with as many signatures as a busy shop makes in years.
 */
import Sqlite from 'better-sqlite3';
import { canonicalIntent } from '../../src/signer/journal.ts';
import { refundOf } from '../support/temp-signer.ts';

/** The network that the signatures are of. */
export const LONG_NETWORK = 'test:two';

/**
 * Adds signatures to a journal that nobody has open, in one transaction, with bytes that cannot be compressed. They are
 * years old, so that they use up no cap.
 */
export function lengthenJournal(file: string, rows: number, txBytes = 400): void {
  const client = new Sqlite(file);
  const intent = canonicalIntent(refundOf('long', 1n, { network: LONG_NETWORK, mac: 'a'.repeat(64) }));
  const triggers = client.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  // The rows keep the rules; looking for that again at each of them would take minutes.
  client.transaction(() => {
    for (const { name } of triggers) client.exec(`DROP TRIGGER ${name}`);
    client.exec(`
      CREATE TEMP TABLE numbers AS
        WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < ${rows}) SELECT n FROM count;
      INSERT INTO fences (network, fence, seen_at_ms) VALUES ('${LONG_NETWORK}', 1, 1);
      INSERT INTO intents (id, network, intent, signed_at_ms)
        SELECT 'long_' || n, '${LONG_NETWORK}', json_set('${intent}', '$.id', 'long_' || n), 1600000000000 + n FROM numbers;
      INSERT INTO generations (intent_id, generation, proof, network, payer, nonce)
        SELECT 'long_' || n, 0, NULL, '${LONG_NETWORK}', 'long', n FROM numbers;
      INSERT INTO signatures (intent_id, generation, attempt, network, terms, tx, bytes, fence, signed_at_ms)
        SELECT 'long_' || n, 0, 0, '${LONG_NETWORK}', '{}', '0x' || lower(hex(randomblob(32))), randomblob(${txBytes}), 1,
          1600000000000 + n FROM numbers;
      INSERT INTO cap_uses (signature_id, cap, units, network, used_at_ms)
        SELECT id, 'fee', '1', network, signed_at_ms FROM signatures WHERE network = '${LONG_NETWORK}';
      DROP TABLE numbers;`);
    for (const { sql } of triggers) client.exec(sql);
  })();
  client.close();
}
