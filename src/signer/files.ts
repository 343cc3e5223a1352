/**
 * Where a signer keeps what it has.
 * @module
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';

export type SignerFiles = Readonly<{ dir: string; keystore: string; policy: string; journal: string; socket: string }>;

export const signerFiles = (dir: string): SignerFiles => ({
  dir,
  keystore: join(dir, 'keystore.json'),
  policy: join(dir, 'policy.json'),
  journal: join(dir, 'signer.db'),
  socket: join(dir, 'signer.sock'),
});

/**
 * The folder must be its owner's. A group may be let in, so that an engine of another user reaches the socket; the files are the owner's alone.
 * @throws Fault permanent `signer_dir_missing`, `signer_dir_open`
 */
export function checkSignerDir(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw permanent('signer_dir_missing', `there is no signer in ${dir}; make one with \`quayside signer init\``);
  if ((found.mode & 0o027) === 0) return;
  throw permanent('signer_dir_open', `${dir} is open to other users of this machine; run: chmod 700 ${dir}`);
}
