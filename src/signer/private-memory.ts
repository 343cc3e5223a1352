/**
 * Keeps the signer's memory to itself: no core dump may hold it, and no debugger is let in by a signal.
 * @module
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import { permanent } from '../core/fault.ts';

const PRLIMIT_MS_MAX = 5000;

/**
 * Must run before any secret is read.
 * @returns what could not be made sure of, for the log
 * @throws Fault permanent `debugger_open`, `core_dumps_on`
 */
export function keepMemoryPrivate(): readonly string[] {
  if (inspectorUrl() !== undefined) {
    throw permanent(
      'debugger_open',
      'a debugger is open on this process and could read the keys; start it without --inspect',
    );
  }
  // Without a listener of our own this signal opens Node's debugger on a port.
  process.on('SIGUSR1', () => {});
  if (process.platform !== 'linux')
    return ['core dumps cannot be turned off on this system from inside: run `ulimit -c 0` before'];
  limitCoreSize();
  emptyCoreDumps();
  if (coreSizeMax() === '0' || coreFilter() === 0) return [];
  throw permanent(
    'core_dumps_on',
    'a core dump would hold the keys, and it cannot be turned off from inside: set LimitCORE=0 in the unit, or run `ulimit -c 0` before',
  );
}

/** The soft limit on core files, as the kernel shows it. */
const coreSizeMax = (): string | undefined =>
  /^Max core file size\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];

const coreFilter = (): number => Number.parseInt(readFileSync('/proc/self/coredump_filter', 'utf8'), 16);

/** No core files, and no later change of mind: the hard limit too. Node has no call for it, util-linux has. */
function limitCoreSize(): void {
  try {
    const command = ['--pid', String(process.pid), '--core=0:0'];
    execFileSync('prlimit', command, {
      stdio: 'ignore',
      timeout: PRLIMIT_MS_MAX,
      env: { PATH: process.env.PATH ?? '' },
    });
  } catch {
    // Not installed, or not allowed: what holds in the end is looked at afterwards.
  }
}

/** Leaves every kind of memory out of core dumps (core(5), "coredump_filter"), also of those that are piped to a program without a limit. */
function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // A kernel without it: what holds in the end is looked at afterwards.
  }
}
