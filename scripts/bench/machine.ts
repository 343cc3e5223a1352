/**
 * Describes the machine, and what else it did during a measurement.
 * @module
 */
import { availableParallelism, cpus, loadavg } from 'node:os';

/** Returns the processor time that all cores together have spent since the machine started, in ms. */
function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

export type Machine = Readonly<{
  node: string;
  cores: number;
  arch: string;
  model: string;
  loadavg: readonly number[];
}>;

/** `loadavg` covers the last 1, 5 and 15 minutes: above 0 before a run, other processes are running. */
export const machine = (): Machine => ({
  node: process.version,
  cores: availableParallelism(),
  arch: process.arch,
  model: cpus()[0]?.model ?? 'unknown',
  loadavg: loadavg().map((load) => Number(load.toFixed(2))),
});

/**
 * Starts to measure the machine.
 * @returns a function that returns how many percent of all cores went to other processes; `ownCpuMs` is what the
 * measured ones took
 */
export function watchOthers(): (ownCpuMs: number) => number {
  const startedAtMs = performance.now();
  const before = busyMs();
  return (ownCpuMs) => {
    const capacityMs = (performance.now() - startedAtMs) * availableParallelism();
    return Math.max(0, Math.round((100 * (busyMs() - before - ownCpuMs)) / capacityMs));
  };
}
