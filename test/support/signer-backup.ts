/**
 * Backups of a signer, as files.
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { unpackArchive } from '../../src/lib/unpack-archive.ts';
import { backupPassphrase, JOURNAL_NAME, POLICY_NAME } from '../../src/signer/backup.ts';
import type { SigningService } from '../../src/signer/signing-service.ts';
import { seed } from './temp-signer.ts';

/** Backs a signer up into a file. */
export const backUpInto = (file: string, service: SigningService): Promise<void> =>
  pipeline(service.backup(), createWriteStream(file));

/** Reads what a backup of the test's seed holds. */
export async function readBackup(file: string) {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-unpacked-'));
  try {
    const [policy, journal] = [POLICY_NAME, JOURNAL_NAME];
    const options = { passphrase: backupPassphrase(seed), names: [policy, journal] };
    const [first] = await unpackArchive(file, folder, options);
    const read = (name: string) => readFileSync(join(folder, name));
    return { policy: read(policy).toString('utf8'), journal: read(journal), madeAtMs: first?.madeAtMs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
