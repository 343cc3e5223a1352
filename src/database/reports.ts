/** Figures of a store over periods. Nothing here is stored: each index names the store's rows of the period. */

import { asc, count, eq } from 'drizzle-orm';
import type { SessionStatus } from '../core/event.ts';
import { toPar } from '../core/money.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { firstSessionId } from '../lib/id.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { createMeta, LAST_RUN } from './meta.ts';
import { deliveries, heldMoney } from './tables.ts';

/** The entries of a period in one network and currency. Amounts are at par (18 decimals). */
export type CreditTotal = Readonly<{
  network: NetworkKey;
  currency: Currency;
  /** Transfers that were credited to sessions. */
  credits: number;
  creditedPar: bigint;
  /** Credits, of this period or an earlier one, that a reorg took back. */
  reversals: number;
  reversedPar: bigint;
}>;

/** Sessions created in a period. `unpaid`: those that expired, failed or were canceled. What is left is pending. */
export type SessionTotal = Readonly<{ created: number; paid: number; unpaid: number }>;

type At = Readonly<{ storeId: string; mode: Mode }>;

/** The transfer of a payment's entry `e`; other causes are no numbers. */
export const paidTransfer = "CASE WHEN e.kind IN ('payment', 'payment_reversed') THEN CAST(e.cause AS BIGINT) END";

/** Money that a session received is below zero in the ledger. */
const creditsOfPeriod = `
  SELECT p.network, p.asset AS currency, t.decimals,
    count(*) FILTER (WHERE e.kind = 'payment') AS credits, sum_units(p.units) FILTER (WHERE e.kind = 'payment') AS credited,
    count(*) FILTER (WHERE e.kind = 'payment_reversed') AS reversals,
    sum_units(p.units) FILTER (WHERE e.kind = 'payment_reversed') AS reversed
  FROM ledger_entries AS e
  JOIN ledger_postings AS p ON p.network = e.network AND p.seq = e.seq AND p.account = 'received'
  JOIN transfers AS t ON t.id = ${paidTransfer}
  WHERE e.store_id = :storeId AND e.mode = :mode AND e.at_ms >= :fromMs AND e.at_ms < :toMs
  GROUP BY p.network, p.asset, t.decimals`;

type CreditRow = Readonly<{
  network: NetworkKey;
  currency: Currency;
  decimals: number;
  credits: number;
  credited: string;
  reversals: number;
  reversed: string;
}>;

/** Adds up the rows of one network and currency: a token may have had other decimals before. */
function totalsOf(rows: readonly CreditRow[]): CreditTotal[] {
  const totals = new Map<string, CreditTotal>();
  for (const { network, currency, decimals, credits, credited, reversals, reversed } of rows) {
    const place = `${network} ${currency}`;
    const known = totals.get(place);
    totals.set(place, {
      network,
      currency,
      credits: credits + (known?.credits ?? 0),
      creditedPar: (known?.creditedPar ?? 0n) - toPar(BigInt(credited), decimals),
      reversals: reversals + (known?.reversals ?? 0),
      reversedPar: (known?.reversedPar ?? 0n) + toPar(BigInt(reversed), decimals),
    });
  }
  return [...totals.values()];
}

const sessionsOfPeriod = `
  SELECT count(*) AS created, count(*) FILTER (WHERE status = 'paid') AS paid,
    count(*) FILTER (WHERE status IN ('expired', 'canceled', 'failed')) AS unpaid
  FROM sessions
  WHERE store_id = :storeId AND mode = :mode AND status IN ('pending', 'paid', 'expired', 'canceled', 'failed')
    AND id >= :fromId AND id < :toId`;

/** Returns what `read` finds in each period between one time and the next. */
const inPeriods = async <T>(
  timesMs: readonly number[],
  read: (fromMs: number, toMs: number) => Promise<T>,
): Promise<T[]> => mapInOrder(timesMs.slice(1), (toMs, at) => read(timesMs[at] ?? toMs, toMs));

/** Statements are prepared when they are needed: only the dashboard asks for them. */
export function reportQueries({ client, read }: Db) {
  return {
    /**
     * Returns a store's totals of each period between one time and the next, by network and currency.
     * @param timesMs ascending; there is one period less
     */
    async sumCredits({ storeId, mode }: At, timesMs: readonly number[]): Promise<readonly (readonly CreditTotal[])[]> {
      const summed = client.prepare(creditsOfPeriod);
      return read(() =>
        inPeriods(timesMs, async (fromMs, toMs) =>
          totalsOf((await summed.all({ storeId, mode, fromMs, toMs })) as CreditRow[]),
        ),
      );
    },
    /** Returns whether any money was ever credited to the store's sessions of this mode. */
    async hasCredits({ storeId, mode }: At): Promise<boolean> {
      const first = client.prepare('SELECT 1 FROM ledger_entries WHERE store_id = ? AND mode = ? LIMIT 1');
      return read(async () => (await first.get(storeId, mode)) !== undefined);
    },
    /**
     * Returns how many sessions a store created between one time and the next, and how many of those are paid or ended
     * without a payment now.
     * @param timesMs ascending; there is one period less
     */
    async countSessions({ storeId, mode }: At, timesMs: readonly number[]): Promise<readonly SessionTotal[]> {
      const counted = client.prepare(sessionsOfPeriod);
      return read(() =>
        inPeriods(timesMs, async (fromMs, toMs) => {
          const ids = { fromId: firstSessionId(fromMs), toId: firstSessionId(toMs) };
          return (await counted.get({ storeId, mode, ...ids })) as SessionTotal;
        }),
      );
    },
  };
}

// ── Counts behind the metrics ────────────────────────────────────────────────────────────────────────────────────────
/** A count of sessions costs the same however many there are. */
export const SESSIONS_COUNTED_MAX = 10_000;

export type Stats = Readonly<{
  /** Sessions by status, each counted up to `SESSIONS_COUNTED_MAX`. */
  sessions: Readonly<Record<string, number>>;
  /** When old data was last removed; null if that never was. */
  retentionAtMs: number | null;
  deliveriesWaiting: number;
  /** Age of the oldest waiting delivery. */
  oldestWaitingMs: number;
  /** Amounts of held money that wait for a decision. */
  heldOpen: number;
}>;

const statuses: readonly SessionStatus[] = ['pending', 'paid', 'failed', 'expired', 'canceled'];

export function statsCommands({ client, orm, read }: Db) {
  const meta = createMeta({ client });
  const countSessions = client
    .prepare(
      `SELECT count(*) FROM (
         SELECT 1 FROM sessions
         WHERE store_id IN (SELECT id FROM stores) AND mode IN ('live', 'test') AND status = ? AND id >= ? LIMIT ?
       ) AS limited`,
    )
    .pluck();
  const sessionsOf = async (status: SessionStatus, fromId: string) =>
    (await countSessions.get(status, fromId, SESSIONS_COUNTED_MAX)) as number;
  const isWaiting = eq(deliveries.state, 'waiting');
  const isOpen = eq(heldMoney.state, 'open');
  return {
    async stats(nowMs: number): Promise<Stats> {
      return read(async () => {
        const oldest = await orm
          .select({ createdAtMs: deliveries.createdAtMs })
          .from(deliveries)
          .where(isWaiting)
          .orderBy(asc(deliveries.eventId))
          .limit(1)
          .get();
        const lastRun = await meta.read(LAST_RUN);
        return {
          retentionAtMs: lastRun === null ? null : Number(lastRun),
          sessions: Object.fromEntries(
            await mapInOrder(statuses, async (status) => [status, await sessionsOf(status, '')]),
          ),
          deliveriesWaiting: (await orm.select({ n: count() }).from(deliveries).where(isWaiting).get())?.n ?? 0,
          heldOpen: (await orm.select({ n: count() }).from(heldMoney).where(isOpen).get())?.n ?? 0,
          oldestWaitingMs: oldest ? Math.max(0, nowMs - oldest.createdAtMs) : 0,
        };
      });
    },
    /** Returns how many sessions that were created since then are paid, counted up to `SESSIONS_COUNTED_MAX`. */
    async countPaid(sinceMs: number): Promise<number> {
      return read(() => sessionsOf('paid', firstSessionId(sinceMs)));
    },
  };
}
