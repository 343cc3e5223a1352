/**
 * The signer's part of a backup: a file that the running signer encrypts, and only the seed phrase opens.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { SignerConfig } from '../../config/config.ts';
import { transient } from '../../core/fault.ts';
import { counted } from '../../lib/parts.ts';
import { openConfiguredSigner } from '../../signer/client.ts';

/**
 * Asks the running signer for its part, and writes it into a new file, which is whole when this resolves.
 * @param onBytes called with the number of bytes received so far
 * @throws Fault those of the signer's client; transient `storage_unavailable`
 */
export async function writeSignerPart(
  { dir }: Pick<SignerConfig, 'dir'>,
  file: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<void> {
  const signer = openConfiguredSigner({ dir });
  const out = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  try {
    await pipeline(counted(signer.backup(), onBytes), out);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw transient(
      'storage_unavailable',
      `the signer’s part cannot be written (${error.message}): make room, then run \`quayside backup\` again`,
      error,
    );
  } finally {
    // A failure may come before the file is opened, which would then appear after the caller has removed it.
    if (!out.closed) await once(out, 'close');
    await signer.close();
  }
}
