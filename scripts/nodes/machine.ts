/**
 * What this machine has, and whether a node fits on it.
 * @module
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { promisify } from 'node:util';
import type { DiskSpeed } from './disk-speed.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import type { MachineNeeds } from './recipe.ts';

const GIB = 1 << 30;
/** The system keeps some of the memory for itself: a machine sold with 32 GB shows 31. */
const MEMORY_SHARE_MIN = 0.94;
/** So much more than a node takes must be free: it unpacks, compacts and grows. */
const DISK_SHARE_MIN = 1.25;
const COMMAND_MS_MAX = 5_000;

export type Machine = Readonly<{
  cores: number;
  memoryGib: number;
  arch: string;
  /** Null where the system does not say. */
  cpuFlags: ReadonlySet<string> | null;
  /** Whether the clock is kept right; null if that is not known. */
  isClockSynced: boolean | null;
  takenPorts: ReadonlySet<number>;
  freeGib: number;
  /** Null if it was not measured, or cannot be. */
  speed: DiskSpeed | null;
}>;

/** Reads what the machine has. @param ports to be tried */
export async function readMachine(
  ports: readonly number[],
  disk: Pick<Machine, 'freeGib' | 'speed'>,
): Promise<Machine> {
  const taken = await Promise.all([...new Set(ports)].map(async (port) => ((await isTaken(port)) ? [port] : [])));
  return {
    ...disk,
    cores: availableParallelism(),
    memoryGib: totalmem() / GIB,
    arch: process.arch,
    cpuFlags: readCpuFlags(),
    isClockSynced: await readClock(),
    takenPorts: new Set(taken.flat()),
  };
}

function readCpuFlags(): ReadonlySet<string> | null {
  try {
    const [, flags] = /^flags\s*:\s*(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? [];
    return flags === undefined ? null : new Set(flags.split(/\s+/));
  } catch {
    // Not Linux.
    return null;
  }
}

async function readClock(): Promise<boolean | null> {
  try {
    const options = { timeout: COMMAND_MS_MAX };
    const { stdout } = await promisify(execFile)('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], options);
    return stdout.trim() === 'yes' ? true : stdout.trim() === 'no' ? false : null;
  } catch {
    // A container, or another system.
    return null;
  }
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen(port, () => server.close(() => resolve(false)));
  });
}

const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);

/** Returns for how many months the free space lasts, at the fastest growth; null if it does not grow. */
export function monthsLeft({ disk_gib, growth_gib_month: [, most] }: MachineNeeds, freeGib: number): number | null {
  return most === 0 ? null : Math.max(0, Math.floor((freeGib - sum(disk_gib)) / most));
}

/** Judges a machine: an error for each thing that a node cannot do without. */
export function machineFindings(machine: Machine, needs: MachineNeeds): Finding[] {
  const { cores, memoryGib, arch, cpuFlags, isClockSynced, takenPorts, freeGib } = machine;
  const least = (area: string, has: string, isEnough: boolean, wanted: string, next: string): Finding =>
    isEnough ? ok(area, has) : failure(area, `${has}; it needs ${wanted}`, next);
  const diskGib = sum(needs.disk_gib);
  const months = monthsLeft(needs, freeGib);
  const lasts = months === null ? '' : `, enough for ${months} months`;
  const taken = needs.ports.filter((port) => takenPorts.has(port));
  return [
    least('cores', `${cores} cores`, cores >= needs.cores, String(needs.cores), 'use a larger machine'),
    least(
      'memory',
      `${memoryGib.toFixed(1)} GiB of memory`,
      memoryGib >= needs.memory_gib * MEMORY_SHARE_MIN,
      `${needs.memory_gib} GiB`,
      'use a machine with more memory',
    ),
    least(
      'disk',
      `${freeGib.toFixed(0)} GiB free${freeGib >= diskGib ? lasts : ''}`,
      freeGib >= diskGib * DISK_SHARE_MIN,
      `${Math.ceil(diskGib * DISK_SHARE_MIN)} GiB (a quarter more than it takes)`,
      'use a larger disk, and name its folder with --dir',
    ),
    ...speedFindings(machine, needs),
    ...(needs.arch !== undefined && needs.arch !== arch
      ? [failure('cpu', `a processor of kind ${arch}; it needs ${needs.arch}`, 'use another machine')]
      : []),
    ...(needs.cpu_flag !== undefined && cpuFlags?.has(needs.cpu_flag) === false
      ? [
          failure(
            'cpu',
            `a processor without ${needs.cpu_flag}`,
            'use another machine, or build the client for this one',
          ),
        ]
      : []),
    ...(taken.length > 0
      ? [warning('ports', `in use: ${taken.join(', ')}`, 'a node may run here already; otherwise give it other ports')]
      : [ok('ports', 'free')]),
    isClockSynced
      ? ok('clock', 'synchronised')
      : warning(
          'clock',
          isClockSynced === null ? 'whether it is synchronised is not known' : 'not synchronised',
          'enable systemd-timesyncd or chrony: nodes refuse blocks that seem to come from the future',
        ),
  ];
}

function speedFindings({ speed }: Machine, { read_us_max: usMax }: MachineNeeds): Finding[] {
  if (speed === null) {
    return usMax === undefined
      ? []
      : [warning('speed', 'the disk’s speed was not measured', `measure it: reads must take less than ${usMax} µs`)];
  }
  const { medianUs, p99Us, writeMibPerS } = speed;
  const has = `reads of 4 KiB take ${medianUs.toFixed(0)} µs, 99 % at most ${p99Us.toFixed(0)} µs; writes ${writeMibPerS.toFixed(0)} MiB/s`;
  if (usMax === undefined || p99Us <= usMax) return [ok('speed', has)];
  return [
    failure(
      'speed',
      `${has}, and at most ${usMax} µs will do`,
      'use an NVMe disk with DRAM (TLC), on this machine itself',
    ),
  ];
}
