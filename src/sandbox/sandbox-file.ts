/**
 * `sandbox.json` in the data directory: what the other processes need to know of the sandbox. It holds a secret (the
 * control token), so only its owner may read it.
 *
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { permanent } from '../core/fault.ts';
import { writeSecretFile } from '../lib/secret-file.ts';

const schema = z.object({
  /** The receiving account's extended public key, per family; the private half follows from the sandbox's seed. */
  xpub: z.record(z.string(), z.string()),
  /** For the control methods `sandbox_*`. */
  token: z.string().min(32),
  /** Where each network's node listens. */
  networks: z.record(z.string(), z.object({ url: z.string(), rpc_url: z.string().optional() })),
});
export type SandboxFile = z.infer<typeof schema>;

/**
 * @returns the file's content; null when there is none yet
 * @throws Fault permanent `sandbox_file_invalid`
 */
export function readSandboxFile(file: string): SandboxFile | null {
  if (!existsSync(file)) return null;
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw permanent(
      'sandbox_file_invalid',
      `${file} cannot be read: delete it, and the sandbox makes a new one with a new receiving account`,
      error,
    );
  }
}

export const writeSandboxFile = (file: string, content: SandboxFile): void =>
  writeSecretFile(file, `${JSON.stringify(content, null, 2)}\n`);
