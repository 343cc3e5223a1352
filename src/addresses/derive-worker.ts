/**
 * The address pool's thread: derives collection addresses from an extended public key. Each takes a good part of a millisecond, so a
 * slice of them would hold up the API.
 * @module
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { invariant } from '../core/fault.ts';
import { answer, type ThreadAnswer } from '../lib/thread-pool.ts';

export type DeriveTask = Readonly<{ family: Family; xpub: string; firstIndex: number; count: number }>;

/** The task that the pool's thread runs, by name. @returns the address keys of `firstIndex…`, in order */
export const deriveAddresses = (task: DeriveTask): Promise<ThreadAnswer<string[]>> =>
  answer(() => {
    const { derive } = chains[task.family].address;
    invariant(derive, `${task.family} derives addresses from an xpub`);
    return Array.from({ length: task.count }, (_, n) => derive(task.xpub, task.firstIndex + n));
  });
