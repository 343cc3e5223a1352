/**
 * The seed of everything that the sandbox owns: deposit addresses, the signer's wallets. It may be in the data
 * directory, since nothing of value is ever sent to it.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretFile } from '../lib/secret-file.ts';

const SEED_BYTES = 64;

/** Returns the seed of the sandbox in this data directory, 64 bytes; creates it if there is none. */
export function sandboxSeed(dataDir: string): Uint8Array {
  const file = join(dataDir, 'sandbox', 'seed');
  createSecretFile(file, `${randomBytes(SEED_BYTES).toString('hex')}\n`);
  return new Uint8Array(Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'));
}
