/**
 * Folders for what a backup is made of or was unpacked into, which nothing encrypts. A process that was killed leaves
 * its folder behind; a later one removes it.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, systemClock } from '../../lib/clock.ts';

/** The names that `openScratch` gives, and those of files that are being packed. */
const OWN_NAME = /^(quayside-scratch-\w{6}|quayside-\d{8}T\d{9}Z\.tar\.gz\.age\.partial)$/;

type Scratch = Readonly<{ folder: string; remove(): void }>;

/** Makes a folder in `parent` for this process, after it has removed what killed ones left there. */
export function openScratch(parent: string): Scratch {
  removeAbandoned(parent);
  const folder = mkdtempSync(join(parent, 'quayside-scratch-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Removes what killed processes left in a folder: nobody works on a backup for a day. */
export function removeAbandoned(parent: string): void {
  const nowMs = systemClock.nowMs();
  for (const name of readdirSync(parent).filter((one) => OWN_NAME.test(one))) {
    const path = join(parent, name);
    const changedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - changedAtMs > DAY_MS) rmSync(path, { recursive: true, force: true });
  }
}
