/**
 * The files of a signer.
 * @module
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';

export type SignerFiles = Readonly<{ dir: string; keystore: string; policy: string; journal: string; socket: string }>;

/** Returns the paths of a signer's files. */
export const signerFiles = (dir: string): SignerFiles => ({
  dir,
  keystore: join(dir, 'keystore.json'),
  policy: join(dir, 'policy.json'),
  journal: join(dir, 'signer.db'),
  socket: join(dir, 'signer.sock'),
});

/**
 * Checks who can access the folder. A group may open it, so that a payout engine of another user reaches the socket;
 * the files in it are only their owner's.
 * @throws Fault permanent `signer_dir_missing`, `signer_dir_open`
 */
export function checkSignerDir(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw permanent('signer_dir_missing', `there is no signer in ${dir}; create one with \`quayside signer init\``);
  if ((found.mode & 0o027) === 0) return;
  throw permanent('signer_dir_open', `other users of this machine can access ${dir}; run: chmod 700 ${dir}`);
}
