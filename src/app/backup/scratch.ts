/**
 * Scratch folders with the unencrypted files of a backup. A killed process leaves its folder behind, and a later one
 * removes it.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, systemClock } from '../../lib/clock.ts';

/** Names of folders from `openScratch`, and of files that are being packed. */
const OWN_NAME = /^(quayside-scratch-\w{6}|quayside-\d{8}T\d{9}Z\.tar\.gz\.age\.partial)$/;

type Scratch = Readonly<{ folder: string; remove(): void }>;

/** Makes a folder in `parent` for this process, after removing those of killed ones. */
export function openScratch(parent: string): Scratch {
  removeAbandoned(parent);
  const folder = mkdtempSync(join(parent, 'quayside-scratch-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * Removes files and folders that killed processes left in a folder. They are a day old, because no backup takes that
 * long.
 */
export function removeAbandoned(parent: string): void {
  const nowMs = systemClock.nowMs();
  for (const name of readdirSync(parent).filter((one) => OWN_NAME.test(one))) {
    const path = join(parent, name);
    const changedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - changedAtMs > DAY_MS) rmSync(path, { recursive: true, force: true });
  }
}
