/** Creates a new signer's folder. It is filled under another name and then renamed, so that it is never half made. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault, permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import { damaged, unseal } from '../lib/unseal.ts';
import { backupPassphrase, headSchema } from './backup.ts';
import { signerFiles } from './files.ts';
import { createJournal, restoreJournal } from './journal.ts';
import { createKeystore, fingerprintOf } from './keystore.ts';
import { type PolicySettings, readPolicy } from './policy.ts';

const NEWLINE = 0x0a;

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
 * @returns when the backup was made, in Unix milliseconds
 * @throws Fault permanent `signer_exists`, `policy_invalid`, `passphrase_weak`, `journal_foreign`, `backup_foreign` (of
 * another seed); see `unseal`
 */
export async function restoreSigner(
  dir: string,
  seed: Uint8Array,
  passphrase: Uint8Array,
  { file, nowMs }: Readonly<{ file: string; nowMs: number }>,
): Promise<number> {
  const draft = openDraft(dir);
  try {
    createKeystore(draft.files.keystore, seed, passphrase);
    const madeAtMs = await unpackSigner(file, seed, draft.files);
    const { networks } = readPolicy(signerFiles(dir).policy, readFileSync(draft.files.policy, 'utf8'));
    const keys = networks.map(({ key }) => key);
    restoreJournal(draft.files.journal, keys, nowMs);
    draft.place();
    return madeAtMs;
  } finally {
    draft.remove();
  }
}

/** @returns when the backup was made @throws Fault: see `restoreSigner` */
async function unpackSigner(
  file: string,
  seed: Uint8Array,
  files: Readonly<{ policy: string; journal: string }>,
): Promise<number> {
  const secret = backupPassphrase(seed);
  try {
    return await unsealBackup(file, secret, files);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'passphrase_wrong') throw error;
    throw permanent(
      'backup_foreign',
      `the seed phrase of the signer ${fingerprintOf(seed)} does not open ${file}: the file is another signer's backup, or no backup`,
      error,
    );
  } finally {
    secret.fill(0);
  }
}

/**
 * Writes the policy and the journal of a backup into new files. They may be incomplete until this has returned.
 * @returns when it was made, in Unix milliseconds
 * @throws Fault: see `unseal`
 */
export async function unsealBackup(
  file: string,
  passphrase: Uint8Array,
  { policy, journal }: Readonly<{ policy: string; journal: string }>,
): Promise<number> {
  let head: ReturnType<typeof headSchema.parse> | undefined;
  const handle = openSync(journal, 'wx', 0o600);
  const write = (part: Uint8Array) => {
    for (let at = 0; at < part.length; ) at += writeSync(handle, part, at);
  };
  try {
    await unseal(file, passphrase, async (plain) => {
      let line = Buffer.alloc(0);
      for await (const part of plain) {
        if (head) {
          write(part);
          continue;
        }
        line = Buffer.concat([line, part]);
        const end = line.indexOf(NEWLINE);
        if (end < 0) continue;
        head = headSchema.parse(JSON.parse(line.toString('utf8', 0, end)));
        write(line.subarray(end + 1));
      }
    });
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (!head) throw damaged(file, 'it is empty');
  writeFileSync(policy, head.policy, { flag: 'wx', mode: 0o600, flush: true });
  return head.made_at_ms;
}

/** Opens a folder beside the signer's. */
function openDraft(dir: string) {
  refuseExistingSigner(dir);
  mkdirSync(dirname(dir), { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(join(dirname(dir), `.${basename(dir)}-draft-`));
  return {
    files: signerFiles(draft),
    /** Replaces an empty folder. Fails if the folder has files. */
    place: () => renameSync(draft, dir),
    remove: () => rmSync(draft, { recursive: true, force: true }),
  };
}
