/**
 * Creates a new signer's folder: completely under another name, then renamed.
 * @module
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import type { SignerBackup } from './backup.ts';
import { signerFiles } from './files.ts';
import { createJournal, restoreJournal } from './journal.ts';
import { createKeystore, fingerprintOf } from './keystore.ts';
import { type PolicySettings, readPolicy } from './policy.ts';

/** Makes sure that no earlier signer is overwritten. @throws Fault permanent `signer_exists` */
export function refuseExistingSigner(dir: string): void {
  let found: string[] = [];
  try {
    found = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  if (found.length === 0) return;
  throw permanent(
    'signer_exists',
    `${dir} already contains ${found[0]}; name another folder with --dir, or use the signer that is there`,
  );
}

/**
 * Creates the folder (0700) with keystore, policy and an empty journal (0600 each), or nothing.
 * @throws Fault permanent `signer_exists`, `policy_invalid`, `passphrase_weak`
 */
export function makeSigner(dir: string, seed: Uint8Array, passphrase: Uint8Array, policy: PolicySettings): void {
  const policyText = `${JSON.stringify(policy, null, 2)}\n`;
  readPolicy(signerFiles(dir).policy, policyText);
  makeFolder(dir, seed, passphrase, policyText, (file) => createJournal(file, fingerprintOf(seed)));
}

/**
 * Creates the folder of a signer from a backup, or nothing.
 * @throws Fault permanent `signer_exists`, `policy_invalid`, `passphrase_weak`, `journal_foreign`
 */
export function restoreSigner(
  dir: string,
  seed: Uint8Array,
  passphrase: Uint8Array,
  { policy: policyText, journal: content }: SignerBackup,
  nowMs: number,
): void {
  const networks = readPolicy(signerFiles(dir).policy, policyText).networks.map(({ key }) => key);
  makeFolder(dir, seed, passphrase, policyText, (file) => restoreJournal(file, content, networks, nowMs).close());
}

function makeFolder(
  dir: string,
  seed: Uint8Array,
  passphrase: Uint8Array,
  policyText: string,
  makeJournal: (file: string) => void,
): void {
  refuseExistingSigner(dir);
  mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(join(dirname(dir), `.${basename(dir)}-draft-`));
  try {
    chmodSync(draft, 0o700);
    const files = signerFiles(draft);
    createKeystore(files.keystore, seed, passphrase);
    makeJournal(files.journal);
    createSecretFile(files.policy, policyText);
    // Replaces an empty folder, and fails if it has got files meanwhile.
    renameSync(draft, dir);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
