/**
 * The address pool's thread, which derives deposit addresses from an xpub. Each takes a good part of a millisecond, so
 * a slice of them would block the API.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { invariant } from '../core/fault.ts';
import { answer, type ThreadAnswer } from '../lib/thread-pool.ts';

export type DeriveTask = Readonly<{ family: Family; xpub: string; indexes: readonly number[] }>;

/** The task of the pool's thread, found by name. @returns the address keys of the indexes, in their order */
export const deriveAddresses = (task: DeriveTask): Promise<ThreadAnswer<string[]>> =>
  answer(async () => {
    const keys = await chains[task.family].xpubKeys?.();
    invariant(keys, `${task.family} derives addresses from an xpub`);
    return task.indexes.map((index) => keys.derive(task.xpub, index));
  });
