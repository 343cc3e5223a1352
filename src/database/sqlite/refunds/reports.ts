/**
 * What a store refunded in a period, by the index of when refunds were made, and of when they ended.
 * @module
 */
import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import type { RefundSum, ReportDatabase } from '../../reports.ts';
import { defineSum } from '../credit-totals.ts';
import type { Db } from '../open.ts';
import { preparePaidFees } from '../payouts/reports.ts';
import { refunds } from '../tables.ts';
import type { RefundRows } from './row.ts';

type Summed = Readonly<{ amountMinor: string }> & Omit<RefundSum, 'amountMinor'>;
type Range = Readonly<{ storeId: string; mode: string; fromMs: number; toMs: number }>;

/** The two times of a refund that a period may be about, with the index of each. */
const found = {
  made: `refunds AS r INDEXED BY refunds_listed WHERE r.store_id = :storeId AND r.mode = :mode
    AND r.created_at_ms >= :fromMs AND r.created_at_ms < :toMs`,
  ended: `refunds AS r INDEXED BY refunds_ended WHERE r.store_id = :storeId AND r.mode = :mode
    AND r.processed_at_ms >= :fromMs AND r.processed_at_ms < :toMs`,
} as const;

/** Prepares the sums of refunds by one of their times. */
function prepareSums({ client }: Db, by: keyof typeof found) {
  const count = client.prepare(`SELECT count(*) FROM (SELECT 1 FROM ${found[by]} LIMIT :limit) AS limited`).pluck();
  const sums = client.prepare(
    `SELECT r.network, r.currency, r.status, count(*) AS count, sum_units(r.amount_minor) AS amountMinor
     FROM ${found[by]} GROUP BY r.network, r.currency, r.status`,
  );
  return {
    isMore: (range: Range, limit: number): boolean => (count.get({ ...range, limit: limit + 1 }) as number) > limit,
    of: (range: Range): readonly RefundSum[] =>
      (sums.all(range) as Summed[]).map((row) => ({ ...row, amountMinor: BigInt(row.amountMinor) })),
  };
}

export function refundReports(
  db: Db,
  rows: Pick<RefundRows, 'view'>,
): Pick<ReportDatabase, 'sumRefunds' | 'sumEndedRefunds' | 'listEndedRefunds'> {
  const { client, orm, read } = db;
  defineSum(client);
  const [made, ended] = [prepareSums(db, 'made'), prepareSums(db, 'ended')];
  const [first, rest] = found.ended.split(' WHERE ');
  const costs = client.prepare(
    `SELECT a.network, count(*) AS count, sum_units(a.fee_units) AS units
     FROM ${first} CROSS JOIN payout_attempts AS a ON a.payout_id = r.id
     WHERE ${rest} AND a.fee_units <> '0' GROUP BY a.network`,
  );
  const feesOf = preparePaidFees(client);
  return {
    async sumRefunds({ storeId, mode }, period, refundsMax) {
      const range = { storeId, mode, ...period };
      return read(() => (made.isMore(range, refundsMax) ? null : made.of(range)));
    },
    async sumEndedRefunds({ storeId, mode }, timesMs, refundsMax) {
      const [fromMs = 0, ...ends] = timesMs;
      const range = { storeId, mode, fromMs, toMs: ends.at(-1) ?? fromMs };
      return read(() => {
        if (ended.isMore(range, refundsMax)) return null;
        const periods = ends.map((toMs, at) => ended.of({ storeId, mode, fromMs: timesMs[at] ?? toMs, toMs }));
        type Cost = Readonly<{ network: RefundSum['network']; count: number; units: string }>;
        return { periods, fees: (costs.all(range) as Cost[]).map((cost) => ({ ...cost, units: BigInt(cost.units) })) };
      });
    },
    async listEndedRefunds({ storeId, mode }, { fromMs, toMs }, { after, limit }) {
      const { processedAtMs, id } = refunds;
      const page = orm
        .select()
        .from(refunds)
        .where(
          and(
            eq(refunds.storeId, storeId),
            eq(refunds.mode, mode),
            gte(processedAtMs, fromMs),
            lt(processedAtMs, toMs),
            after ? sql`(${processedAtMs}, ${id}) > (${after.endedAtMs}, ${after.refund.id})` : undefined,
          ),
        )
        .orderBy(asc(processedAtMs), asc(id))
        .limit(limit);
      return read(() =>
        page.all().map((row) => ({
          refund: rows.view(row),
          endedAtMs: row.processedAtMs ?? fromMs,
          fees: feesOf(row.id),
        })),
      );
    },
  };
}
