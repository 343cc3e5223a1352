/**
 * The signer's part of a backup: its journal and its policy in one encrypted archive, never the seed or the keystore.
 *
 * The passphrase is derived from the seed. A running signer has it, so that a backup is made at any time without a
 * person; nobody else has: whoever stores the file learns neither what was paid to whom nor the limits, and cannot make
 * another one. And nothing more can be lost: without the seed phrase, which is on paper, no backup of a signer is worth
 * anything.
 */
import { hkdfSync } from 'node:crypto';
import { sealArchive } from '../lib/archive.ts';
import type { Journal } from './journal.ts';

/** The files of the archive. */
export const POLICY_NAME = 'policy.json';
export const JOURNAL_NAME = 'signer.db';
/** The passphrase cannot be guessed, so nothing slows a guess down: 1 MiB and a millisecond. */
const WORK_FACTOR = 10;

type BackupParts = Readonly<{
  /** The text of `policy.json`. */
  policy: string;
  journal: Pick<Journal, 'snapshot'>;
  madeAtMs: number;
}>;

/** Returns the passphrase of a seed's backups: 64 hexadecimal digits, which the caller wipes. */
export const backupPassphrase = (seed: Uint8Array): Buffer =>
  Buffer.from(Buffer.from(hkdfSync('sha256', seed, '', 'quayside signer backup v1', 32)).toString('hex'));

/**
 * Yields a backup of the journal as it is when the first part is asked for. It ends what it began also if no further
 * part is asked for (`return`).
 * @throws Fault transient: see `Journal.snapshot`
 */
export async function* sealBackup(
  seed: Uint8Array,
  { policy, journal, madeAtMs }: BackupParts,
): AsyncGenerator<Buffer, void> {
  const snapshot = journal.snapshot();
  const passphrase = backupPassphrase(seed);
  const text = Buffer.from(policy);
  const files = [
    { name: POLICY_NAME, bytes: text.length, madeAtMs, content: [text] },
    { name: JOURNAL_NAME, bytes: snapshot.bytes, madeAtMs, content: snapshot.read() },
  ];
  try {
    yield* sealArchive(files, passphrase, WORK_FACTOR);
  } finally {
    passphrase.fill(0);
    snapshot.close();
  }
}
