/**
 * Looks at a database file from outside, also one that cannot be opened: whether SQLite finds it whole, and whether the
 * newest entries of the ledger add up. Everything is read; nothing is written.
 */
import { imbalances, type Posting } from '../../core/ledger.ts';
import { connect } from './connection.ts';
import { guarded } from './storage-fault.ts';

/** Complaints of each kind that are returned, at most. */
const COMPLAINTS_MAX = 20;
const BUSY_TIMEOUT_MS = 5_000;

/** Each list is empty in a sound file; `version` is that of its schema. */
type Integrity = Readonly<{
  pages: readonly string[];
  foreignKeys: readonly string[];
  unbalanced: readonly string[];
  entriesChecked: number;
  version: number;
}>;

/**
 * Checks a file. Reading it takes as long as its size needs.
 * @param entries how many of the newest entries of each network's ledger to add up
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function checkIntegrity(file: string, entries: number): Integrity {
  return guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      const quick = client.pragma(`quick_check(${COMPLAINTS_MAX})`) as Readonly<{ quick_check: string }>[];
      const keys = client.pragma('foreign_key_check') as Readonly<{ table: string; rowid: number; parent: string }>[];
      const postings = client
        .prepare(
          `SELECT network || ' ' || seq AS entry, network, asset, units FROM ledger_postings
           WHERE seq > (SELECT last FROM counters WHERE owner = 'ledger:' || network) - ?`,
        )
        .all(entries) as (Pick<Posting, 'network' | 'asset'> & { entry: string; units: string })[];
      const byEntry = new Map<string, Pick<Posting, 'network' | 'asset' | 'units'>[]>();
      for (const { entry, network, asset, units } of postings) {
        const own = byEntry.get(entry) ?? [];
        byEntry.set(entry, [...own, { network, asset, units: BigInt(units) }]);
      }
      const unbalanced = [...byEntry].flatMap(([entry, own]) =>
        imbalances(own).map((what) => `entry ${entry}: ${what}`),
      );
      return {
        pages: quick.map((row) => row.quick_check).filter((text) => text !== 'ok'),
        foreignKeys: keys
          .slice(0, COMPLAINTS_MAX)
          .map(({ table, rowid, parent }) => `${table} ${rowid} names no row of ${parent}`),
        unbalanced: unbalanced.slice(0, COMPLAINTS_MAX),
        entriesChecked: byEntry.size,
        version: Number(client.pragma('user_version', { simple: true })),
      };
    } finally {
      client.close();
    }
  });
}
