/**
 * What else the machine did while something was measured, so that a figure can be judged.
 * @module
 */
import { availableParallelism, cpus, loadavg } from 'node:os';

/** Processor time that all cores together have spent on work since the machine started, in ms. */
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

/** `loadavg` is that of the last 1, 5 and 15 minutes: above 0 before a run means that somebody else was at work. */
export const machine = (): Machine => ({
  node: process.version,
  cores: availableParallelism(),
  arch: process.arch,
  model: cpus()[0]?.model ?? 'unknown',
  loadavg: loadavg().map((load) => Number(load.toFixed(2))),
});

/**
 * Starts to watch the machine.
 * @returns a function that says which share of all cores, in percent, went to processes that were not measured; `ownCpuMs` is what the
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
