/**
 * The signer's part of a backup: its journal and its policy in one encrypted file. It never contains the seed or the
 * keystore.
 *
 * The passphrase is derived from the seed. A running signer can make a backup at any time without a person. Nobody else
 * has the passphrase, so the keeper of the file can neither read the payments and limits in it nor forge another. The
 * backup needs no passphrase of its own on paper. It is restored with the seed phrase, without which it would be
 * worthless anyway.
 */
import { hkdfSync } from 'node:crypto';
import * as z from 'zod';
import { seal } from '../lib/sealed.ts';
import type { Journal } from './journal.ts';

/** The first line of the encrypted content. The journal, a SQLite database, follows it. */
export const headSchema = z.strictObject({ version: z.literal(1), made_at_ms: z.int(), policy: z.string() });

/** 1 MiB and a millisecond. The passphrase cannot be guessed, so guesses need not be slow. */
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
 * Yields a backup of the journal. It also releases the copy if its caller stops early (`return`).
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
