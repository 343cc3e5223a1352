/**
 * Files that hold secrets: written whole or not at all, and readable only by their owner.
 */
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Replaces the file atomically, with mode 0600: a reader sees the old text or the new one, never a part. It outlives a
 * loss of power once this returns.
 */
export function writeSecretFile(file: string, text: string): void {
  const draft = writeDraft(file, text);
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** Makes sure that the names of new files outlive a loss of power. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

/**
 * Creates the file if there is none.
 * @returns false when it exists; it stays as it is
 */
export function createSecretFile(file: string, content: string | Uint8Array): boolean {
  const draft = writeDraft(file, content);
  try {
    // A hard link fails if the name exists; a rename would replace it.
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function writeDraft(file: string, content: string | Uint8Array): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.draft`;
  rmSync(draft, { force: true });
  writeFileSync(draft, content, { flag: 'wx', mode: 0o600, flush: true });
  return draft;
}
