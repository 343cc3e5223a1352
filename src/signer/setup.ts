/**
 * Creates a new signer's folder: completely under another name, then renamed.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault, permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import type { OnBytes, SignerBackup } from './backup.ts';
import { signerFiles, takeSignerLock } from './files.ts';
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
  const draft = openDraft(dir);
  try {
    createKeystore(draft.files.keystore, seed, passphrase);
    createJournal(draft.files.journal, fingerprintOf(seed));
    createSecretFile(draft.files.policy, policyText);
    draft.place();
  } finally {
    draft.remove();
  }
}

/**
 * Creates the folder of a signer from a backup, or nothing.
 * @throws Fault permanent `signer_exists`, `policy_invalid`, `passphrase_weak`, `journal_foreign`; see `SignerBackup`
 */
export async function restoreSigner(
  dir: string,
  seed: Uint8Array,
  passphrase: Uint8Array,
  { backup, nowMs, onBytes }: Readonly<{ backup: SignerBackup; nowMs: number; onBytes?: OnBytes }>,
): Promise<void> {
  const draft = openDraft(dir);
  try {
    createKeystore(draft.files.keystore, seed, passphrase);
    const policyText = await backup.unpack(draft.files.journal, onBytes);
    const { networks } = readPolicy(signerFiles(dir).policy, policyText);
    const keys = networks.map(({ key }) => key);
    restoreJournal(draft.files.journal, keys, nowMs);
    createSecretFile(draft.files.policy, policyText);
    draft.place();
  } finally {
    draft.remove();
  }
}

/** Opens a folder beside the signer's, after it has removed those that killed processes left there. */
function openDraft(dir: string) {
  refuseExistingSigner(dir);
  const [parent, prefix] = [dirname(dir), `.${basename(dir)}-draft-`];
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(parent)) if (name.startsWith(prefix)) removeAbandoned(join(parent, name));
  const draft = mkdtempSync(join(parent, prefix));
  chmodSync(draft, 0o700);
  // The system releases the lock when this process ends, however it ends.
  const release = takeSignerLock(draft);
  const files = signerFiles(draft);
  return {
    files,
    /** Replaces an empty folder, and fails if it has got files meanwhile. */
    place() {
      for (const name of [files.lock, `${files.lock}-journal`]) rmSync(name, { force: true });
      renameSync(draft, dir);
    },
    remove() {
      rmSync(draft, { recursive: true, force: true });
      release();
    },
  };
}

function removeAbandoned(draft: string): void {
  try {
    takeSignerLock(draft)();
  } catch (error) {
    if (error instanceof Fault) return;
    throw error;
  }
  rmSync(draft, { recursive: true, force: true });
}
