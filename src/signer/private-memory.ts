/**
 * Protects the signer's memory. It must not be in a core dump, and no signal may start a debugger. The signer warns if
 * the memory may be written to a disk.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import { permanent } from '../core/fault.ts';

/**
 * Turns core dumps and the debugger off. Must run before any secret is read.
 * @returns warnings for the log
 * @throws Fault permanent `debugger_open`, `core_dumps_on`
 */
export function keepMemoryPrivate(): readonly string[] {
  if (inspectorUrl() !== undefined) {
    throw permanent(
      'debugger_open',
      'a debugger is open on this process and could read the keys; start it without --inspect',
    );
  }
  // Without a listener, this signal would open Node's debugger on a port.
  process.on('SIGUSR1', () => {});
  if (process.platform !== 'linux')
    return ['this process cannot turn off core dumps on this system: run `ulimit -c 0` before starting it'];
  emptyCoreDumps();
  if (coreSizeMax() === '0' || coreFilter() === 0) return swapWarnings(readText('/proc/swaps'), ownSwapMax());
  throw permanent(
    'core_dumps_on',
    'a core dump would contain the keys, and this process cannot turn it off: set LimitCORE=0 in the unit, or run `ulimit -c 0` before starting it',
  );
}

/**
 * Returns a warning if this process's memory may be written to a disk. Node cannot lock memory, but its service can
 * keep all of it out of swap space (systemd.resource-control(5), "MemorySwapMax").
 * @param swaps `/proc/swaps`, a heading and one line for each swap space
 * @param swapMax `memory.swap.max` of this process's control group; null where there is none
 */
export function swapWarnings(swaps: string | null, swapMax: string | null): readonly string[] {
  const spaces = (swaps ?? '')
    .split('\n')
    .slice(1)
    .filter((line) => line.trim() !== '' && !line.startsWith('/dev/zram'));
  if (spaces.length === 0 || swapMax?.trim() === '0') return [];
  return [
    'this machine has swap space, so the keys may be written to a disk: run the signer as a service with ' +
      'MemorySwapMax=0 (src/signer/README.md), or turn swap space off',
  ];
}

/** Returns the swap limit of this process's control group (cgroup v2). */
function ownSwapMax(): string | null {
  const own = /^0::(\S+)$/m.exec(readText('/proc/self/cgroup') ?? '')?.[1];
  return own === undefined ? null : readText(`/sys/fs/cgroup${own}/memory.swap.max`);
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** Returns the soft limit on core files, in the kernel's spelling. */
const coreSizeMax = (): string | undefined =>
  /^Max core file size\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];

const coreFilter = (): number => Number.parseInt(readFileSync('/proc/self/coredump_filter', 'utf8'), 16);

/** Excludes all memory from core dumps (core(5), "coredump_filter"), even from those that are piped to a program. */
function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // The kernel may not have this file. The result is checked afterwards.
  }
}
