/** What the database holds about a range of blocks, and how far final blocks were compared with it. */

import type { RecordedTransfer } from '../comparison.ts';
import type { Blocks } from '../ingest.ts';
import type { Db } from './open.ts';
import { blockComparisons } from './tables.ts';

type TransferRow = Omit<RecordedTransfer, 'units' | 'bookedUnits'> &
  Readonly<{ units: string; bookedUnits: string | null }>;

/** How often an entry of a kind was written for a transfer. */
const entriesOf = (kind: string): string =>
  `(SELECT count(*) FROM ledger_entries WHERE cause = CAST(t.id AS TEXT) AND kind = '${kind}')`;

const transfersOf = `
  SELECT b.hash AS block, b.number, t.tx, t.position AS "index", t.currency, t.from_key AS "from", a.key AS "to",
    t.units, iif(t.dust = 1, 'dust', iif(t.confirmed = 1, 'confirmed', 'unconfirmed')) AS state,
    iif(${entriesOf('payment')} > ${entriesOf('payment_reversed')},
      (SELECT p.units FROM ledger_entries AS e JOIN ledger_postings AS p ON p.entry_id = e.id
       WHERE e.cause = CAST(t.id AS TEXT) AND e.kind = 'payment' AND p.account = 'collected'
       ORDER BY e.occurrence DESC LIMIT 1), '0') AS bookedUnits
  FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id JOIN addresses AS a ON a.id = t.address_id
  WHERE b.network = ? AND b.canonical = 1 AND b.number BETWEEN ? AND ?
  ORDER BY b.number, t.position, t.tx`;

export function comparisonQueries(
  db: Db,
): Pick<Blocks, 'firstFrom' | 'range' | 'listComparisons' | 'recordComparison'> {
  const { client, orm } = db;
  const lowest = client
    .prepare('SELECT min(number) FROM blocks WHERE network = ? AND canonical = 1 AND number >= ?')
    .pluck();
  const blocks = client.prepare(
    'SELECT number, hash FROM blocks WHERE network = ? AND canonical = 1 AND number BETWEEN ? AND ? ORDER BY number',
  );
  const transfers = client.prepare(transfersOf);

  return {
    async firstFrom(network, number) {
      return db.read(() => lowest.get(network, number) as number | null);
    },
    async range(network, { from, to }) {
      return db.read(() => ({
        blocks: blocks.all(network, from, to) as { number: number; hash: string }[],
        transfers: (transfers.all(network, from, to) as TransferRow[]).map(({ units, bookedUnits, ...row }) => ({
          ...row,
          units: BigInt(units),
          bookedUnits: BigInt(bookedUnits ?? 0),
        })),
      }));
    },
    async listComparisons() {
      const rows = db.read(() => orm.select().from(blockComparisons).orderBy(blockComparisons.network).all());
      return rows.map(({ fromNumber: from, throughNumber: through, differsFrom, differsTo, ...row }) => {
        const differs = differsFrom === null || differsTo === null ? null : { from: differsFrom, to: differsTo };
        return { ...row, from, through, differs };
      });
    },
    async recordComparison({ from: fromNumber, through: throughNumber, differs, ...rest }) {
      const ends = { differsFrom: differs?.from ?? null, differsTo: differs?.to ?? null };
      const row = { ...rest, ...ends, fromNumber, throughNumber };
      await db.write(() => {
        const target = blockComparisons.network;
        orm.insert(blockComparisons).values(row).onConflictDoUpdate({ target, set: row }).run();
      });
    },
  };
}
