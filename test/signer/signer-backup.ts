/**
 * Backups of a signer, as files.
 */
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { backupPassphrase } from '../../src/signer/backup.ts';
import { unsealBackup } from '../../src/signer/setup.ts';
import type { SigningService } from '../../src/signer/signing-service.ts';
import { seed } from '../support/temp-signer.ts';

/** Backs a signer up into a file. */
export const backUpInto = (file: string, service: SigningService): Promise<void> =>
  pipeline(service.backup(), createWriteStream(file));

/** Reads what a backup of the test's seed holds. */
export async function readBackup(file: string) {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-unpacked-'));
  try {
    const files = { policy: join(folder, 'policy.json'), journal: join(folder, 'signer.db') };
    const madeAtMs = await unsealBackup(file, backupPassphrase(seed), files);
    return { policy: readFileSync(files.policy, 'utf8'), journal: readFileSync(files.journal), madeAtMs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
