/**
 * Where simulated payouts live: two real databases and the signer's journal, used by one history after the other, each
 * with a network of its own. What a network has can be copied from one database to the other, as a backup is made and
 * put back.
 *
 * @module
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/sqlite/migrate.ts';
import { connectTo } from '../support/temp-database.ts';
import { openSimSigner, type SimSigner } from './payout-signer.ts';

/**
 * A database, through the store and from the outside, with what reads, writes and removes a network's rows, table by
 * table.
 */
export type Base = Readonly<{
  database: Database;
  raw: Sqlite.Database;
  selections: readonly Sqlite.Statement[];
  insertions: readonly Sqlite.Statement[];
  removals: readonly Sqlite.Statement[];
}>;

export type Bench = Readonly<{
  main: Base;
  /** A backup, or what a second engine works on. */
  other: Base;
  signer: SimSigner;
  close(): void;
}>;

/** The tables in the order in which rows may be written, and which of their rows are a network's. */
const parts: readonly (readonly [string, string])[] = [
  ['payouts', 'network = :network'],
  ['payout_attempts', 'network = :network'],
  ['sweep_parts', 'network = :network'],
  ['lanes', 'network = :network'],
  ['payout_engines', 'network = :network'],
  ['wallet_balances', 'network = :network'],
  ['ledger_entries', 'id IN (SELECT entry_id FROM ledger_postings WHERE network = :network)'],
  ['ledger_postings', 'network = :network'],
];

/**
 * Memory is as good as a disk here, and many times faster: what is proved is the order of commits, and nobody cuts the
 * power.
 */
const MEMORY = '/dev/shm';
const folderFor = (): string => mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'quayside-payouts-'));

function statementsOf(raw: Sqlite.Database): Pick<Base, 'selections' | 'insertions' | 'removals'> {
  const columnsOf = (table: string) =>
    (raw.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  return {
    selections: parts.map(([table, own]) => raw.prepare(`SELECT * FROM ${table} WHERE ${own}`)),
    insertions: parts.map(([table]) => {
      const names = columnsOf(table);
      return raw.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `:${name}`)})`);
    }),
    // Entries are found by their postings, so those go last.
    removals: [...parts.slice(0, -1)]
      .reverse()
      .concat(parts.slice(-1))
      .map(([table, own]) => raw.prepare(`DELETE FROM ${table} WHERE ${own}`)),
  };
}

export function openBench(clock: Readonly<{ nowMs(): number }>): Bench {
  const folder = folderFor();
  const bases = ['main', 'other'].map((name): Base => {
    const file = join(folder, `${name}.db`);
    migrate({ file, backupDir: join(folder, 'backups') });
    const raw = new Sqlite(file);
    raw.pragma('foreign_keys = OFF');
    return { database: connectTo(file), raw, ...statementsOf(raw) };
  });
  const signer = openSimSigner(join(folder, 'signer.db'), clock);
  return {
    main: bases[0] as Base,
    other: bases[1] as Base,
    signer,
    close() {
      for (const { database, raw } of bases) {
        raw.close();
        database.close();
      }
      signer.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes everything of a network. */
export function clear({ raw, removals }: Base, network: NetworkKey): void {
  raw.transaction(() => {
    for (const removal of removals) removal.run({ network });
  })();
}

/** Puts a network's rows of one database in place of those of another. */
export function copy(from: Base, to: Base, network: NetworkKey): void {
  clear(to, network);
  to.raw.transaction(() => {
    for (const [at, selection] of from.selections.entries()) {
      for (const row of selection.all({ network })) to.insertions[at]?.run(row);
    }
  })();
}
