/**
 * Facts about a process, from Linux's /proc. A process that has ended has spent nothing.
 */
import { readFileSync } from 'node:fs';

/** The kernel's clock ticks are 10 ms on every architecture that Node supports: sysconf(_SC_CLK_TCK) is 100. */
const MS_PER_TICK = 10;

/** Returns the processor time that a process has spent, in ms. */
export function cpuMsOf(pid: number): number {
  const [user = 0, system = 0] = statFields(pid).slice(11, 13).map(Number);
  return (user + system) * MS_PER_TICK;
}

export const parentOf = (pid: number): number => Number(statFields(pid)[1] ?? 0);

/** Returns how many bytes a process has sent towards the disk. */
export const bytesWrittenBy = (pid: number): number =>
  Number(/^write_bytes: (\d+)/m.exec(readText(`/proc/${pid}/io`))?.[1] ?? 0);

/** Returns the fields of /proc/PID/stat after the program's name, which may contain spaces: state, parent, … */
const statFields = (pid: number): string[] =>
  readText(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');

/** Returns a file's text; empty if the process has ended. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
