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
import { createDatabaseFile } from '../support/database-file.ts';
import { connectTo } from '../support/temp-database.ts';
import { openSimSigner } from './payout-signer.ts';

export type Base = ReturnType<typeof openBase>;
export type Bench = ReturnType<typeof openBench>;

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

/**
 * Opens a database, through its port and directly, with statements that read, write and remove a network's rows, table
 * by table.
 */
function openBase(file: string) {
  createDatabaseFile(file);
  const raw = new Sqlite(file);
  raw.pragma('foreign_keys = OFF');
  const columnsOf = (table: string) =>
    (raw.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const open = raw.prepare(`SELECT count(*) FROM payouts WHERE network = ? AND state IN ('waiting', 'sent')`).pluck();
  const bytes = raw.prepare('SELECT bytes FROM payout_attempts WHERE tx = ?').pluck();
  return {
    database: connectTo(file),
    raw,
    /** Returns how many payouts of a network may still be paid. */
    countOpen: (network: NetworkKey) => open.get(network) as number,
    /** Returns the bytes of an attempt by its transaction, or undefined. */
    bytesOf: (tx: string) => bytes.get(tx) as Buffer | null | undefined,
    selections: parts.map(([table, own]) => raw.prepare(`SELECT * FROM ${table} WHERE ${own}`)),
    insertions: parts.map(([table]) => {
      const names = columnsOf(table);
      return raw.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `:${name}`)})`);
    }),
    removals: [...parts].reverse().map(([table, own]) => raw.prepare(`DELETE FROM ${table} WHERE ${own}`)),
  };
}

export function openBench(clock: Readonly<{ nowMs(): number }>) {
  const folder = folderFor();
  const [main, other] = [openBase(join(folder, 'main.db')), openBase(join(folder, 'other.db'))];
  let signers = 0;
  /** Opens another signer, empty or with the journal's content that is given. */
  const openSigner = (content?: Uint8Array) => openSimSigner(join(folder, `signer-${signers++}.db`), clock, content);
  const signer = openSigner();
  return {
    main,
    /** A backup, or the database of a second engine. */
    other,
    signer,
    openSigner,
    close() {
      for (const { database, raw } of [main, other]) {
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
