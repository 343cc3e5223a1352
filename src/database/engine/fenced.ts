/**
 * The writes of a process that holds a lease: each compares its fence in its own transaction.
 */
import { transient } from '../../core/fault.ts';
import type { Db } from './open.ts';

/** A lease as its holder knows it. */
export type HeldLease = Readonly<{ name: string; fence: number }>;

/** The code of a write that came after another process had taken the lease. Nothing of it was saved. */
export const LEASE_LOST = 'lease_lost';

/**
 * Returns the same database, whose writes are refused once another process has taken the lease. The row stays locked
 * until the commit, so that nobody takes it in between.
 * @param onLost called when a write was refused
 */
export function fenced<D extends Db>(db: D, { name, fence }: HeldLease, onLost: () => void): D {
  const current = db.client.prepare('SELECT fence FROM leases WHERE name = ? /* lock */').pluck();
  return {
    ...db,
    async write(work, options) {
      try {
        return await db.write(async () => {
          if ((await current.get(name)) !== fence) throw lost(name);
          return work();
        }, options);
      } catch (error) {
        if (isLeaseLost(error)) onLost();
        throw error;
      }
    },
  };
}

export const isLeaseLost = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === LEASE_LOST;

const lost = (name: string) =>
  transient(LEASE_LOST, `Another process does "${name}" now; what this one wanted to write was refused.`);
