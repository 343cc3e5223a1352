/**
 * Proves a backup: restores it into a scratch folder and checks what it holds.
 */
import { ledgerProblems } from '../../database/money-out.ts';
import type { Manifest } from './manifest.ts';
import { withUnpacked } from './unpacked.ts';

/** `problems` is empty for a backup that is sound. */
type Proof = Readonly<{ manifest: Manifest; ledgerEntries: number; problems: readonly string[] }>;

/**
 * Restores a backup into a scratch folder within `parent`, compares it with its manifest and adds up the ledger.
 * @throws Fault permanent: see `withUnpacked`
 */
export const proveBackup = (file: string, parent: string, passphrase: Uint8Array): Promise<Proof> =>
  withUnpacked(file, { parent, passphrase }, async ({ manifest, problems, database }) => {
    const report = await database.verifyLedger();
    return { manifest, ledgerEntries: report.entries, problems: [...problems, ...ledgerProblems(report)] };
  });
