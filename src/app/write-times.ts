/**
 * How long this process waits before it can write to the database, and how long its writes hold the lock.
 */
import { Histogram } from 'prom-client';
import type { WriteMeasure } from '../database/engine/write-queue.ts';

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export type WriteTimes = Readonly<{
  observe(measure: WriteMeasure): void;
  histograms: readonly Histogram[];
}>;

export function createWriteTimes(): WriteTimes {
  const wait = new Histogram({
    name: 'quayside_write_wait_seconds',
    help: 'How long writes of the server waited for other writes, of this process and others.',
    buckets,
    registers: [],
  });
  const held = new Histogram({
    name: 'quayside_write_seconds',
    help: 'How long write transactions of the server took, once they had the lock.',
    buckets,
    registers: [],
  });
  return {
    observe({ waitedMs, heldMs }) {
      wait.observe(waitedMs / 1000);
      held.observe(heldMs / 1000);
    },
    histograms: [wait, held],
  };
}
