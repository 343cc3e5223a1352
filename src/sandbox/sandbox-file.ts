/**
 * `sandbox.json` in the data directory: what the other processes need to know about the sandbox. It holds a secret (the
 * control token), so only its owner may read it.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';
import { createSecretFile, writeSecretFile } from '../lib/secret-file.ts';

const schema = z.object({
  /**
   * The extended public key of the deposit addresses, per family; the private half is derived from the sandbox's seed.
   */
  xpub: z.record(z.string(), z.string()),
  /** For the control methods `sandbox_*`. */
  token: z.string().min(32),
  /** The address of each network's node. */
  networks: z.record(z.string(), z.object({ url: z.string(), rpc_url: z.string().optional() })),
});
export type SandboxFile = z.infer<typeof schema>;

/**
 * Returns the file's content; null if there is none yet.
 * @throws Fault permanent `sandbox_file_invalid`
 */
export function readSandboxFile(file: string): SandboxFile | null {
  if (!existsSync(file)) return null;
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw permanent(
      'sandbox_file_invalid',
      `cannot read ${file}: delete it, and the sandbox creates a new one with new deposit addresses`,
      error,
    );
  }
}

export const writeSandboxFile = (file: string, content: SandboxFile): void =>
  writeSecretFile(file, `${JSON.stringify(content, null, 2)}\n`);

// ── The seed ────────────────────────────────────────────────────────────────────────────────────────────────────────

const SEED_BYTES = 64;

/** Returns the seed of the sandbox in this data directory, 64 bytes; creates it if there is none. */
export function sandboxSeed(dataDir: string): Uint8Array {
  const file = join(dataDir, 'sandbox', 'seed');
  createSecretFile(file, `${randomBytes(SEED_BYTES).toString('hex')}\n`);
  return new Uint8Array(Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'));
}
