/**
 * The journal's file as it is at one moment, read while signatures are added.
 *
 * In WAL mode the file itself changes only at checkpoints, and no checkpoint writes what an open read transaction does
 * not see. So once everything that the transaction sees is in the file, the file stays as it is until the transaction
 * ends (sqlite.org/wal.html, "Concurrency" and "Checkpointing"); what is signed meanwhile waits in `signer.db-wal`. No
 * copy is made, so that nothing is left behind by a process that is killed, and the disk needs no room for one.
 */
import { closeSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { transient } from '../core/fault.ts';

const READ_BYTES = 256 * 1024;
const readAt = promisify(read);

export type JournalSnapshot = Readonly<{
  bytes: number;
  /** Yields the file. @throws Fault transient `signer_storage_unavailable` */
  read(): AsyncGenerator<Buffer, void>;
  /** Lets the file change again. */
  close(): void;
}>;

interface Snapshots {
  /**
   * Opens the only snapshot that may be open.
   * @throws Fault transient `backup_running`, `backup_blocked`; an error of SQLite
   */
  open(): JournalSnapshot;
  /** Closes what is open, the journal's own connection included. */
  close(): void;
}

/** @param journal the connection that writes the journal */
export function openSnapshots(file: string, journal: Sqlite.Database): Snapshots {
  let reader: Sqlite.Database | null = null;
  let handle: number | null = null;

  /** Begins a read transaction, and brings all that it sees into the file. @returns the length of the file in bytes */
  function hold(client: Sqlite.Database): number {
    client.exec('BEGIN');
    client.prepare('SELECT count(*) FROM owner').get();
    const [done] = journal.pragma('wal_checkpoint(PASSIVE)') as { log: number; checkpointed: number }[];
    if (done?.log !== done?.checkpointed) {
      throw transient(
        'backup_blocked',
        `the signer's journal cannot be backed up while another program reads ${file}: end that program, then try again`,
      );
    }
    const number = (pragma: string) => Number(client.pragma(pragma, { simple: true }));
    return number('page_count') * number('page_size');
  }

  async function* readFile(bytes: number): AsyncGenerator<Buffer, void> {
    try {
      handle ??= openSync(file, 'r');
      for (let at = 0; at < bytes; ) {
        const part = Buffer.allocUnsafe(Math.min(READ_BYTES, bytes - at));
        const { bytesRead } = await readAt(handle, part, 0, part.length, at);
        if (bytesRead === 0) throw new Error(`it ends at byte ${at} of ${bytes}`);
        at += bytesRead;
        yield part.subarray(0, bytesRead);
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      throw transient('signer_storage_unavailable', `${file} cannot be read (${why}); check the disk`, error);
    }
  }

  return {
    open() {
      if (reader) {
        throw transient('backup_running', 'the signer is making another backup; when that one is done, try again');
      }
      const client = new Sqlite(file, { readonly: true, fileMustExist: true });
      try {
        const bytes = hold(client);
        reader = client;
        return {
          bytes,
          read: () => readFile(bytes),
          close() {
            if (reader === client) reader = null;
            client.close();
          },
        };
      } catch (error) {
        client.close();
        throw error;
      }
    },
    close() {
      reader?.close();
      journal.close();
      // Last, and never before: a process that closes any handle of a file loses SQLite's locks on it
      // (sqlite.org/howtocorrupt.html, 2.2).
      if (handle !== null) closeSync(handle);
    },
  };
}
