/**
 * Views of payouts and engines, and the engine's fence.
 */
import { and, asc, count, desc, eq, inArray, isNotNull, isNull, min, sql } from 'drizzle-orm';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import type { MoneyOutDatabase } from '../money-out.ts';
import { payoutAttempts, payoutEngines, payouts } from '../tables.ts';
import { toAttempt, toPayout, toReason } from './rows.ts';
import { createSettlingStart } from './settling-in.ts';

type PayoutViews = Pick<
  MoneyOutDatabase,
  | 'nextFence'
  | 'reportEngine'
  | 'beatEngine'
  | 'settleEngine'
  | 'reportSignerFreeze'
  | 'listEngines'
  | 'findPayout'
  | 'listPayouts'
  | 'listPayoutAttempts'
  | 'payoutStats'
  | 'payoutFaults'
  | 'overdueRefunds'
>;

export function payoutViews({ orm, client, read, write }: Db): PayoutViews {
  // Prepared, because the engine runs them often.
  const findEngine = atFirstUse(
    orm
      .select()
      .from(payoutEngines)
      .where(eq(payoutEngines.network, sql.placeholder('network'))),
  );
  const allEngines = atFirstUse(orm.select().from(payoutEngines).orderBy(asc(payoutEngines.network)));
  const attemptsOf = atFirstUse(
    orm
      .select()
      .from(payoutAttempts)
      .where(eq(payoutAttempts.payoutId, sql.placeholder('id')))
      .orderBy(asc(payoutAttempts.generation), asc(payoutAttempts.attempt)),
  );

  const beginSettling = createSettlingStart(client);
  const overdue = atFirstUse(
    orm
      .select({
        network: payouts.network,
        count: count(),
        oldestDueMs: sql<number>`${min(payouts.notBeforeMs)}`,
      })
      .from(payouts)
      .where(
        and(
          sql`${payouts.state} IN ('waiting', 'sent')`,
          sql`${payouts.notBeforeMs} < ${sql.placeholder('dueBeforeMs')}`,
          sql`${payouts.kind} IN ('refund', 'return')`,
          isNull(payouts.waitCode),
        ),
      )
      .groupBy(payouts.network),
  );

  type Reported = Partial<typeof payoutEngines.$inferInsert> & Readonly<{ updatedAtMs: number }>;
  const save = (network: NetworkKey, set: Reported): void =>
    void orm
      .insert(payoutEngines)
      .values({ network, fence: 0, journalId: 0, ...set })
      .onConflictDoUpdate({ target: payoutEngines.network, set })
      .run();

  /** As `delayOf` in core. */
  const delayCode = sql<string | null>`coalesce(${payouts.faultCode}, ${payouts.waitCode})`;

  return {
    async nextFence(network, servedFence, nowMs) {
      return write(() => {
        const engine = findEngine.get({ network });
        if (servedFence > (engine?.fence ?? 0)) return null;
        const fence = (engine?.fence ?? 0) + 1;
        // What the engine has reported stays until it reports something else: it may be what follows again at once.
        save(network, { fence, updatedAtMs: nowMs });
        return fence;
      });
    },
    async reportEngine(network, reason, nowMs) {
      const set = { reasonCode: reason?.code ?? null, reasonMessage: reason?.message ?? null, updatedAtMs: nowMs };
      await write(() => save(network, set));
    },
    async beatEngine(network, nowMs) {
      return write(() => {
        beginSettling(network, nowMs);
        save(network, { beatAtMs: nowMs, updatedAtMs: nowMs });
        return findEngine.get({ network })?.settlingUntilMs ?? null;
      });
    },
    async settleEngine(network, settlingUntilMs, nowMs) {
      await write(() => save(network, { settlingUntilMs, updatedAtMs: nowMs }));
    },
    async reportSignerFreeze(network, signerFreeze, nowMs) {
      await write(() => save(network, { signerFreeze, updatedAtMs: nowMs }));
    },
    async listEngines() {
      return read(() => allEngines.all()).map(({ reasonCode, reasonMessage, ...engine }) => ({
        ...engine,
        reason: toReason(reasonCode, reasonMessage),
      }));
    },
    async findPayout(id) {
      const row = read(() => orm.select().from(payouts).where(eq(payouts.id, id)).get());
      return row ? toPayout(row) : null;
    },
    async listPayouts({ network, state, kind, before, limit }) {
      const wanted = and(
        network === undefined ? undefined : eq(payouts.network, network),
        state === undefined ? undefined : eq(payouts.state, state),
        kind === undefined ? undefined : eq(payouts.kind, kind),
        before && sql`(${payouts.createdAtMs}, ${payouts.id}) < (${before.createdAtMs}, ${before.id})`,
      );
      const byAge = [desc(payouts.createdAtMs), desc(payouts.id)];
      const newest = orm
        .select()
        .from(payouts)
        .where(wanted)
        .orderBy(...byAge)
        .limit(limit);
      return read(() => newest.all()).map(toPayout);
    },
    async listPayoutAttempts(payoutId) {
      return read(() => attemptsOf.all({ id: payoutId })).map(toAttempt);
    },
    async overdueRefunds(dueBeforeMs) {
      return read(() => overdue.all({ dueBeforeMs }));
    },
    async payoutFaults() {
      const faults = orm
        .select({
          network: payouts.network,
          count: count(),
          code: sql<string>`${min(payouts.faultCode)}`,
          message: sql<string>`${payouts.faultMessage}`,
        })
        .from(payouts)
        .where(and(sql`${payouts.state} IN ('waiting', 'sent')`, isNotNull(payouts.faultCode)))
        .groupBy(payouts.network);
      return read(() => faults.all());
    },
    async payoutStats() {
      return read(() => ({
        counts: orm
          .select({ kind: payouts.kind, state: payouts.state, count: count() })
          .from(payouts)
          .groupBy(payouts.state, payouts.kind)
          .all(),
        waiting: orm
          .select({
            network: payouts.network,
            code: delayCode,
            count: count(),
            oldestAtMs: sql<number>`${min(payouts.createdAtMs)}`,
          })
          .from(payouts)
          .where(inArray(payouts.state, ['waiting', 'sent', 'stuck']))
          .groupBy(payouts.network, delayCode)
          .all(),
      }));
    },
  };
}
