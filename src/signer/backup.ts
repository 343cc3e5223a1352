/**
 * The signer's part of a backup: its journal and its policy in one encrypted file, never the seed or the keystore.
 *
 * The passphrase is derived from the seed. A running signer has it, so that a backup is made at any time without a
 * person; nobody else has: whoever stores the file learns neither what was paid to whom nor the limits, and cannot make
 * another one. And nothing more can be lost: without the seed phrase, which is on paper, no backup of a signer is worth
 * anything.
 */
import { hkdfSync } from 'node:crypto';
import * as z from 'zod';
import { seal } from '../lib/sealed.ts';
import type { Journal } from './journal.ts';

/** The first line of what is encrypted; the journal, a SQLite database, follows. */
export const headSchema = z.strictObject({ version: z.literal(1), made_at_ms: z.int(), policy: z.string() });

/** The passphrase cannot be guessed, so nothing slows a guess down: 1 MiB and a millisecond. */
const WORK_FACTOR = 10;

type BackupParts = Readonly<{
  /** The text of `policy.json`. */
  policy: string;
  journal: Pick<Journal, 'copy'>;
  madeAtMs: number;
}>;

/** Returns the passphrase of a seed's backups: 64 hexadecimal digits, which the caller wipes. */
export const backupPassphrase = (seed: Uint8Array): Buffer =>
  Buffer.from(Buffer.from(hkdfSync('sha256', seed, '', 'quayside signer backup v1', 32)).toString('hex'));

/**
 * Yields a backup of the journal. It ends what it began also if no further part is asked for (`return`).
 * @throws Fault transient: see `Journal.copy`
 */
export async function* sealBackup(
  seed: Uint8Array,
  { policy, journal, madeAtMs }: BackupParts,
): AsyncGenerator<Buffer, void> {
  const copy = await journal.copy();
  const passphrase = backupPassphrase(seed);
  const head: z.infer<typeof headSchema> = { version: 1, made_at_ms: madeAtMs, policy };
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${JSON.stringify(head)}\n`);
    yield* copy;
  }
  try {
    yield* seal(content(), passphrase, WORK_FACTOR);
  } finally {
    passphrase.fill(0);
    copy.destroy();
  }
}
