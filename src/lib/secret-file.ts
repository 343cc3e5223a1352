/**
 * Files that hold secrets: made whole or not at all, and readable by their owner only.
 * @module
 */
import { chmodSync, closeSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const OWNER_ONLY = 0o600;

/** Writes the file in place of an older one, with mode 0600, so that a reader sees the old text or the new, never a part. */
export function writeSecretFile(file: string, text: string): void {
  const draft = writeDraft(file, text);
  renameSync(draft, file);
}

/**
 * Writes the file only if there is none.
 * @returns false when there is one already; it is left as it is
 */
export function createSecretFile(file: string, text: string): boolean {
  const draft = writeDraft(file, text);
  try {
    // A hard link fails where a name is taken; a rename would replace it.
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function writeDraft(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.draft`;
  rmSync(draft, { force: true });
  const handle = openSync(draft, 'wx', OWNER_ONLY);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  // The umask may have taken more away than it should.
  chmodSync(draft, OWNER_ONLY);
  return draft;
}
