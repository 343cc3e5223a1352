/**
 * The storage of simulated payouts: two real databases and the signer's journal, used by one history after the other,
 * each with a network of its own. A network's rows can be copied from one database to the other, as a backup is made
 * and restored.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { createDatabaseFile } from '../support/database-file.ts';
import { connectTo } from '../support/temp-database.ts';
import { openSimSigner, type SimSigner } from './payout-signer.ts';

/**
 * A database, through its port and directly, with statements that read, write and remove a network's rows, table by
 * table.
 */
export type Base = Readonly<{
  database: Database;
  raw: Sqlite.Database;
  selections: readonly Sqlite.Statement[];
  insertions: readonly Sqlite.Statement[];
  removals: readonly Sqlite.Statement[];
  /** Returns how many payouts of a network may still be paid. */
  countOpen(network: NetworkKey): number;
  /** Returns the bytes of an attempt by its transaction, or undefined. */
  bytesOf(tx: string): Buffer | null | undefined;
}>;

export type Bench = Readonly<{
  main: Base;
  /** A backup, or the database of a second engine. */
  other: Base;
  signer: SimSigner;
  /** Opens another signer, empty or with the journal's content that is given. */
  openSigner(content?: Uint8Array): SimSigner;
  close(): void;
}>;

/** The tables in the order in which rows may be written, and which of their rows are a network's. */
const parts: readonly (readonly [string, string])[] = [
  ['payouts', 'network = :network'],
  ['payout_attempts', 'network = :network'],
  ['sweep_parts', 'network = :network'],
  ['lanes', 'network = :network'],
  ['payout_engines', 'network = :network'],
  ['payout_freezes', 'network = :network'],
  ['networks', 'key = :network'],
  ['blocks', 'network = :network'],
  ['own_wallets', 'network = :network'],
  ['outgoing_transfers', 'network = :network'],
  ['counters', "owner IN ('ledger:' || :network, 'wallets:' || :network)"],
  ['ledger_entries', 'network = :network'],
  ['ledger_postings', 'network = :network'],
];

/**
 * Memory is as good as a disk here, and many times faster: what is tested is the order of commits, not a loss of power.
 */
const MEMORY = '/dev/shm';
const folderFor = (): string => mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'quayside-payouts-'));

function statementsOf(raw: Sqlite.Database): Omit<Base, 'database' | 'raw'> {
  const columnsOf = (table: string) =>
    (raw.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const open = raw.prepare(`SELECT count(*) FROM payouts WHERE network = ? AND state IN ('waiting', 'sent')`).pluck();
  const bytes = raw.prepare('SELECT bytes FROM payout_attempts WHERE tx = ?').pluck();
  return {
    countOpen: (network) => open.get(network) as number,
    bytesOf: (tx) => bytes.get(tx) as Buffer | null | undefined,
    selections: parts.map(([table, own]) => raw.prepare(`SELECT * FROM ${table} WHERE ${own}`)),
    insertions: parts.map(([table]) => {
      const names = columnsOf(table);
      return raw.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `:${name}`)})`);
    }),
    removals: [...parts].reverse().map(([table, own]) => raw.prepare(`DELETE FROM ${table} WHERE ${own}`)),
  };
}

export function openBench(clock: Readonly<{ nowMs(): number }>): Bench {
  const folder = folderFor();
  const bases = ['main', 'other'].map((name): Base => {
    const file = join(folder, `${name}.db`);
    createDatabaseFile(file);
    const raw = new Sqlite(file);
    raw.pragma('foreign_keys = OFF');
    return { database: connectTo(file), raw, ...statementsOf(raw) };
  });
  let signers = 0;
  const openSigner = (content?: Uint8Array) => openSimSigner(join(folder, `signer-${signers++}.db`), clock, content);
  const signer = openSigner();
  return {
    main: bases[0] as Base,
    other: bases[1] as Base,
    signer,
    openSigner,
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

/** Replaces a network's rows in one database with those of another. */
export function copy(from: Base, to: Base, network: NetworkKey): void {
  clear(to, network);
  to.raw.transaction(() => {
    for (const [at, selection] of from.selections.entries()) {
      for (const row of selection.all({ network })) to.insertions[at]?.run(row);
    }
  })();
}
