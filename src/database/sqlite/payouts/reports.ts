/**
 * What payouts of every kind moved and cost in a period, by the index of when they ended.
 * @module
 */
import { and, asc, gte, lt, sql } from 'drizzle-orm';
import type { PaidFee, PayoutFeeSum, ReportDatabase, SweepSum } from '../../reports.ts';
import { defineSum } from '../credit-totals.ts';
import type { Db } from '../open.ts';
import { payouts } from '../tables.ts';
import { toPayout } from './rows.ts';

type Stored<Sum> = Omit<Sum, 'units'> & Readonly<{ units: string }>;

const toUnits = <Sum extends Readonly<{ units: string }>>(row: Sum) => ({ ...row, units: BigInt(row.units) });

/** Prepares what each transaction of a payout cost; those that cost nothing are left out. */
export function preparePaidFees(client: Db['client']): (payoutId: string) => readonly PaidFee[] {
  const fees = client.prepare(
    `SELECT tx, fee_units AS units FROM payout_attempts WHERE payout_id = :id AND fee_units <> '0'
     ORDER BY generation, attempt`,
  );
  return (id) => (fees.all({ id }) as Stored<PaidFee>[]).map(toUnits);
}

export function payoutReports({ client, orm, read }: Db): Pick<ReportDatabase, 'sumEndedPayouts' | 'listEndedPayouts'> {
  defineSum(client);
  const ended = 'payouts AS p INDEXED BY payouts_settled';
  const inPeriod = 'p.settled_at_ms >= :fromMs AND p.settled_at_ms < :toMs';
  const count = client
    .prepare(`SELECT count(*) FROM (SELECT 1 FROM ${ended} WHERE ${inPeriod} LIMIT :limit) AS limited`)
    .pluck();
  const swept = client.prepare(
    `SELECT p.network, p.intent ->> '$.currency' AS currency, count(DISTINCT p.id) AS count,
       sum_units(parts.value ->> '$.units') AS units
     FROM ${ended} CROSS JOIN json_each(p.intent, '$.from') AS parts
     WHERE ${inPeriod} AND p.kind = 'sweep' AND p.state = 'succeeded' GROUP BY 1, 2`,
  );
  const costs = client.prepare(
    `SELECT a.network, p.kind, count(*) AS count, sum_units(a.fee_units) AS units
     FROM ${ended} CROSS JOIN payout_attempts AS a ON a.payout_id = p.id
     WHERE ${inPeriod} AND a.fee_units <> '0' GROUP BY 1, 2`,
  );
  const feesOf = preparePaidFees(client);
  return {
    async sumEndedPayouts({ fromMs, toMs }, payoutsMax) {
      const period = { fromMs, toMs };
      return read(() => {
        if ((count.get({ ...period, limit: payoutsMax + 1 }) as number) > payoutsMax) return null;
        return {
          sweeps: (swept.all(period) as Stored<SweepSum>[]).map(toUnits),
          fees: (costs.all(period) as Stored<PayoutFeeSum>[]).map(toUnits),
        };
      });
    },
    async listEndedPayouts({ fromMs, toMs }, { after, limit }) {
      const { settledAtMs, id } = payouts;
      const rest = after ? sql`(${settledAtMs}, ${id}) > (${after.endedAtMs}, ${after.payout.id})` : undefined;
      const page = orm
        .select()
        .from(payouts)
        .where(and(gte(settledAtMs, fromMs), lt(settledAtMs, toMs), rest))
        .orderBy(asc(settledAtMs), asc(id))
        .limit(limit);
      return read(() =>
        page.all().map((row) => ({
          payout: toPayout(row),
          endedAtMs: row.settledAtMs ?? fromMs,
          fees: feesOf(row.id),
        })),
      );
    },
  };
}
