/**
 * How many sessions stores created by quarter of an hour, and what became of them; compared with the sessions by
 * `ledger verify`.
 * @module
 */
import { sql } from 'drizzle-orm';
import type { SessionStatus } from '../../core/event.ts';
import type { Mode } from '../../core/transfer.ts';
import { QUARTER_MS } from '../credit-totals.ts';
import type { SessionTotal, SessionTotalDatabase } from '../session-totals.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import { sessionTotals } from './tables.ts';

type Session = Readonly<{ storeId: string; mode: Mode; createdAtMs: number }>;

/** To be called within a transaction. @param from its status before; null when it is created */
type CountSession = (session: Session, from: SessionStatus | null, to: SessionStatus) => void;

const quarterOf = (ms: number): number => Math.floor(ms / QUARTER_MS);

const isUnpaid = (status: SessionStatus | null): boolean =>
  status === 'expired' || status === 'canceled' || status === 'failed';

export function createSessionTotals({ orm }: Pick<Db, 'orm'>): CountSession {
  const { storeId, mode, quarter, created, paid, unpaid } = sessionTotals;
  const place = {
    storeId: sql.placeholder('storeId'),
    mode: sql.placeholder('mode'),
    quarter: sql.placeholder('quarter'),
  };
  const added = {
    created: sql.placeholder('created'),
    paid: sql.placeholder('paid'),
    unpaid: sql.placeholder('unpaid'),
  };
  const set = {
    created: sql`${created} + excluded.created`,
    paid: sql`${paid} + excluded.paid`,
    unpaid: sql`${unpaid} + excluded.unpaid`,
  };
  const add = atFirstUse(
    orm
      .insert(sessionTotals)
      .values({ ...place, ...added })
      .onConflictDoUpdate({ target: [storeId, mode, quarter], set }),
  );
  return (session, from, to) => {
    const change = {
      created: from === null ? 1 : 0,
      paid: Number(to === 'paid') - Number(from === 'paid'),
      unpaid: Number(isUnpaid(to)) - Number(isUnpaid(from)),
    };
    if (change.created + Math.abs(change.paid) + Math.abs(change.unpaid) === 0) return;
    add.run({ storeId: session.storeId, mode: session.mode, quarter: quarterOf(session.createdAtMs), ...change });
  };
}

export function sessionTotalQueries({ client, read }: Db): SessionTotalDatabase {
  const counted = client.prepare(
    `SELECT coalesce(sum(created), 0) AS created, coalesce(sum(paid), 0) AS paid, coalesce(sum(unpaid), 0) AS unpaid
     FROM session_totals WHERE store_id = :storeId AND mode = :mode AND quarter >= :from AND quarter < :to`,
  );
  return {
    async countSessions({ storeId, mode }, timesMs) {
      return read(() =>
        timesMs.slice(1).map((toMs, at) => {
          const period = { from: quarterOf(timesMs[at] ?? toMs), to: quarterOf(toMs) };
          return counted.get({ storeId, mode, ...period }) as SessionTotal;
        }),
      );
    },
  };
}

type Counts = Readonly<{ storeId: string; mode: string; quarter: number }> & SessionTotal;

const placeOf = ({ storeId, mode, quarter }: Counts): string => [storeId, mode, quarter].join(' ');

/** @returns one line for each total that differs from the sessions */
export function auditSessionTotals({ client }: Db): string[] {
  const sessions = client.prepare(
    `SELECT store_id AS storeId, mode, created_at_ms / ${QUARTER_MS} AS quarter, count(*) AS created,
       sum(status = 'paid') AS paid, sum(status IN ('expired', 'canceled', 'failed')) AS unpaid
     FROM sessions GROUP BY 1, 2, 3`,
  );
  const real = new Map((sessions.all() as Counts[]).map((counts) => [placeOf(counts), counts]));
  const wrong: string[] = [];
  const kept = client.prepare('SELECT store_id AS storeId, mode, quarter, created, paid, unpaid FROM session_totals');
  for (const counts of kept.all() as Counts[]) {
    const { created, paid, unpaid } = counts;
    const place = placeOf(counts);
    const found = real.get(place) ?? { created: 0, paid: 0, unpaid: 0 };
    real.delete(place);
    if (created === found.created && paid === found.paid && unpaid === found.unpaid) continue;
    wrong.push(
      `session total ${place}: kept as ${created} created, ${paid} paid, ${unpaid} unpaid; ` +
        `the sessions are ${found.created} created, ${found.paid} paid, ${found.unpaid} unpaid`,
    );
  }
  wrong.push(...[...real].map(([place, { created }]) => `session total ${place}: missing, for ${created} sessions`));
  return wrong;
}
