/**
 * Folders for what a backup is made of or was unpacked into, and for trials, which nothing encrypts. A process that was
 * killed leaves its folder behind; the next one removes it.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/fault.ts';
import { takeInstanceLock } from '../../database/engine/instance-lock.ts';
import { DAY_MS, systemClock } from '../../lib/clock.ts';

/** The names that `openScratch` gives. */
const SCRATCH_NAME = /^(making-backup|unpacked-backup|restored-standby|rehearsed-move)-\w{6}$/;
/** A file that is being packed; it changes all the time, so one that has not for a day is nobody's any more. */
const PARTIAL_NAME = /^quayside-\d{8}T\d{9}Z\.tar\.gz\.age\.\d+\.partial$/;

type ScratchKind = 'making-backup' | 'unpacked-backup' | 'restored-standby' | 'rehearsed-move';
type Scratch = Readonly<{ folder: string; remove(): void }>;

/** Makes a folder in `parent` for this process, after it has removed what killed ones left there. */
export function openScratch(parent: string, kind: ScratchKind): Scratch {
  removeAbandoned(parent);
  const folder = mkdtempSync(join(parent, `${kind}-`));
  // The system releases the lock when this process ends, however it ends.
  const release = takeInstanceLock(folder);
  return {
    folder,
    remove() {
      rmSync(folder, { recursive: true, force: true });
      release();
    },
  };
}

/**
 * Removes what killed processes left in a folder: scratch folders that nobody has locked, and files that were being
 * packed a day ago.
 * @returns their names
 */
export function removeAbandoned(parent: string, nowMs = systemClock.nowMs()): string[] {
  return readdirSync(parent).filter((name) => {
    const path = join(parent, name);
    const isAbandoned = SCRATCH_NAME.test(name)
      ? isUnlocked(path)
      : PARTIAL_NAME.test(name) && nowMs - statSync(path).mtimeMs > DAY_MS;
    if (isAbandoned) rmSync(path, { recursive: true, force: true });
    return isAbandoned;
  });
}

function isUnlocked(folder: string): boolean {
  try {
    takeInstanceLock(folder)();
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}
