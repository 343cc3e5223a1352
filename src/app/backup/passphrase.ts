/**
 * The file with the passphrase of backups.
 */
import { readFileSync, statSync } from 'node:fs';
import { permanent } from '../../core/fault.ts';
import { PASSPHRASE_BYTES_MIN } from './archive.ts';

/**
 * Returns the first line of a file, which the caller wipes.
 * @throws Fault permanent `not_found`, `passphrase_file_open`
 */
export function readPassphrase(file: string): Buffer {
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw permanent('passphrase_file_open', `other users of this machine can access ${file}; run: chmod 600 ${file}`);
    }
    return Buffer.from(readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? '');
  } catch (error) {
    if (error instanceof Error && 'errno' in error) {
      throw permanent(
        'not_found',
        `${file} cannot be read (${error.message}); name a file with the passphrase, of at least ${PASSPHRASE_BYTES_MIN} characters`,
      );
    }
    throw error;
  }
}
