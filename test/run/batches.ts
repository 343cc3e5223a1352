/**
 * Which test files share a process, and which process starts first.
 */
import { dirname } from 'node:path';

/** A file that usually takes longer has a process of its own. */
const SHARING_SECONDS_MAX = 4;
/** So much is put into one process. */
const BATCH_SECONDS_MAX = 12;
/** What is assumed of a file that never ran. One with a process of its own starts installations, so it starts early. */
const UNKNOWN_SECONDS = { alone: 40, sharing: 1 } as const;

/** Slow files, and those that start an installation or a node, have a process of their own. */
const isAlone = (file: string): boolean => /\.slow\.|^test\/(e2e|nodes)\//.test(file);

/**
 * Returns the batches, the slowest first. Files of one folder, which import much the same, share a process.
 * @param times how many seconds each file usually takes, as far as that is known
 */
export function batchesOf(
  files: readonly string[],
  times: Readonly<Record<string, number>>,
): readonly (readonly string[])[] {
  const secondsOf = (file: string): number => times[file] ?? UNKNOWN_SECONDS[isAlone(file) ? 'alone' : 'sharing'];
  const batches: { files: string[]; seconds: number }[] = [];
  const open = new Map<string, { files: string[]; seconds: number }>();
  for (const file of [...files].sort()) {
    const seconds = secondsOf(file);
    const sharing = open.get(dirname(file));
    if (isAlone(file) || seconds > SHARING_SECONDS_MAX) batches.push({ files: [file], seconds });
    else if (sharing && sharing.seconds + seconds <= BATCH_SECONDS_MAX) {
      sharing.files.push(file);
      sharing.seconds += seconds;
    } else {
      const batch = { files: [file], seconds };
      open.set(dirname(file), batch);
      batches.push(batch);
    }
  }
  return batches.sort((a, b) => b.seconds - a.seconds).map(({ files }) => files);
}
