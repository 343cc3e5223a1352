/**
 * How far behind each network was read: the worst of every five minutes, kept for a day.
 */
import { and, asc, eq, gte, lt, or, sql } from 'drizzle-orm';
import type { NetworkKey } from '../../core/transfer.ts';
import { LAG_KEPT_MS, LAG_STEP_MS, type NetworkLag } from '../network-lags.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import { networkLags } from './tables.ts';

/** To be called within a transaction. */
type NetworkLags = Readonly<{
  /** Saves how far behind a network is read now, in seconds, if it was not worse in these five minutes. */
  sample(network: NetworkKey, lagS: number, nowMs: number): void;
  list(network: NetworkKey, fromMs: number): NetworkLag[];
}>;

export function createNetworkLags(db: Db): NetworkLags {
  const { network: of, atMs, lagS } = networkLags;
  const isOf = eq(of, sql.placeholder('network'));
  const find = atFirstUse(
    db.orm
      .select({ lagS })
      .from(networkLags)
      .where(and(isOf, eq(atMs, sql.placeholder('atMs')))),
  );
  return {
    sample(network, now, nowMs) {
      const step = { network, atMs: nowMs - (nowMs % LAG_STEP_MS) };
      const known = find.get(step);
      if (known && known.lagS >= now) return;
      const row = { ...step, lagS: now };
      db.orm
        .insert(networkLags)
        .values(row)
        .onConflictDoUpdate({ target: [of, atMs], set: { lagS: now } })
        .run();
      if (known) return;
      // Those after now are from before the clock was set back.
      const isOver = or(lt(atMs, step.atMs - LAG_KEPT_MS), gte(atMs, step.atMs + LAG_STEP_MS));
      db.orm
        .delete(networkLags)
        .where(and(eq(of, network), isOver))
        .run();
    },
    list: (network, fromMs) =>
      db.orm
        .select({ atMs, lagS })
        .from(networkLags)
        .where(and(eq(of, network), gte(atMs, fromMs)))
        .orderBy(asc(atMs))
        .all(),
  };
}
