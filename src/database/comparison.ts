/** The rows about a range of blocks, and how far final blocks were compared with them. */

import type { Currency, NetworkKey } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { createMeta } from './meta.ts';

/**
 * A transfer in a canonical block. `bookedUnits` is what the ledger holds of it, 0 if its entries cancel out; `from`
 * and `to` are address keys. `unconfirmed`: not credited yet.
 */
export type RecordedTransfer = Readonly<{
  block: string;
  number: number;
  tx: string;
  index: number;
  currency: Currency;
  from: string;
  to: string;
  units: bigint;
  state: 'confirmed' | 'unconfirmed' | 'dust';
  bookedUnits: bigint;
}>;

/** Canonical blocks and their transfers, lowest first. Final blocks without transfers are not kept for long. */
export type RecordedRange = Readonly<{
  blocks: readonly Readonly<{ number: number; hash: string }>[];
  transfers: readonly RecordedTransfer[];
}>;

export type NumberRange = Readonly<{ from: number; to: number }>;

/**
 * How far a network's final blocks were compared with the database. `from` to `through` are the numbers of the last
 * night, with the blocks that were read in them and the transfers to us. `differs` spans the blocks that differ still,
 * which the next night compares again; `message` is the first difference in them.
 */
export type BlockComparison = Readonly<{
  network: NetworkKey;
  from: number;
  through: number;
  comparedAtMs: number;
  blocks: number;
  transfers: number;
  differs: NumberRange | null;
  differences: number;
  message: string | null;
}>;

type TransferRow = Omit<RecordedTransfer, 'units' | 'bookedUnits'> &
  Readonly<{ units: string; bookedUnits: string | null }>;

/** How often an entry of a kind was written for a transfer. */
const entriesOf = (kind: string): string =>
  `(SELECT count(*) FROM ledger_entries WHERE cause = CAST(t.id AS TEXT) AND kind = '${kind}')`;

const transfersOf = `
  SELECT b.hash AS block, b.number, t.tx, t.position AS "index", t.currency, t.from_key AS "from", a.key AS "to",
    t.units, CASE WHEN t.dust = 1 THEN 'dust' WHEN t.confirmed = 1 THEN 'confirmed' ELSE 'unconfirmed' END AS state,
    CASE WHEN ${entriesOf('payment')} > ${entriesOf('payment_reversed')} THEN
      (SELECT p.units FROM ledger_entries AS e JOIN ledger_postings AS p ON p.network = e.network AND p.seq = e.seq
       WHERE e.cause = CAST(t.id AS TEXT) AND e.kind = 'payment' AND p.account = 'collected'
       ORDER BY e.occurrence DESC LIMIT 1) ELSE '0' END AS "bookedUnits"
  FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id JOIN addresses AS a ON a.id = t.address_id
  WHERE b.network = ? AND b.canonical = 1 AND b.number BETWEEN ? AND ?
  ORDER BY b.number, t.position, t.tx`;

export function comparisonQueries(db: Db) {
  const { client } = db;
  const meta = createMeta(db);
  const lowest = client
    .prepare('SELECT min(number) FROM blocks WHERE network = ? AND canonical = 1 AND number >= ?')
    .pluck();
  const blocks = client.prepare(
    'SELECT number, hash FROM blocks WHERE network = ? AND canonical = 1 AND number BETWEEN ? AND ? ORDER BY number',
  );
  const transfers = client.prepare(transfersOf);

  return {
    /** Returns the lowest canonical block at or above a number; null if there is none. */
    async firstFrom(network: NetworkKey, number: number): Promise<number | null> {
      return db.read(async () => (await lowest.get(network, number)) as number | null);
    },
    async range(network: NetworkKey, { from, to }: NumberRange): Promise<RecordedRange> {
      return db.read(async () => ({
        blocks: (await blocks.all(network, from, to)) as { number: number; hash: string }[],
        transfers: ((await transfers.all(network, from, to)) as TransferRow[]).map(
          ({ units, bookedUnits, ...row }) => ({
            ...row,
            units: BigInt(units),
            bookedUnits: BigInt(bookedUnits ?? 0),
          }),
        ),
      }));
    },
    /** Returns how far each network was compared; nothing for those that never were. */
    async listComparisons(): Promise<readonly BlockComparison[]> {
      return db.read(() => meta.listData<BlockComparison>('compared'));
    },
    /** Replaces what is known of the network. */
    async recordComparison(comparison: BlockComparison): Promise<void> {
      await db.write(() => meta.writeData(`compared ${comparison.network}`, comparison));
    },
  };
}
