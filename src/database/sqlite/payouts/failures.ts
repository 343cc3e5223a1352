/**
 * Failed transactions of our own wallets that are learned from the chain: what each may have been for, and how many
 * count. To be called within a transaction.
 * @module
 */
import { and, count, eq, gte, max, sql } from 'drizzle-orm';
import { type Intent, isPayback } from '../../../core/intent.ts';
import type { PaidTransfer } from '../../../core/outgoing.ts';
import { GENERATIONS_MAX, LEARNED_GENERATION } from '../../../core/payout.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { ledgerEntries, payoutAttempts, payouts } from '../tables.ts';
import type { Learned, PayoutSettlement, Payouts } from './payouts.ts';
import type { PayoutRow } from './rows.ts';

/** The answer of an attempt that no node was sent from here. The index of such attempts names it. */
export const LEARNED = 'learned';

type LearnedFailures = Readonly<{
  /**
   * Returns refunds and returns that are settled by what the chain showed, and that a payer's transaction may have been
   * for.
   */
  settled(paid: Pick<PaidTransfer, 'network' | 'to'>, payer: string): PayoutRow[];
  /**
   * Saves a failed transaction with its cost: as a failed attempt of the refund that it was for, which is attempted
   * again as if nothing had been, or as a payout of its own that has failed.
   * @returns false if as many have failed as the engine itself would have tried: then it explains nothing
   */
  record(intent: Intent, learned: Learned, nowMs: number): boolean;
}>;

export function createLearnedFailures(
  { orm }: Db,
  { steps, settlement }: Readonly<{ steps: Payouts; settlement: Pick<PayoutSettlement, 'chargeLearned'> }>,
): LearnedFailures {
  const isLearned = and(
    eq(payoutAttempts.network, sql.placeholder('network')),
    eq(payoutAttempts.payer, sql.placeholder('payer')),
    sql`${payoutAttempts.answerCode} = ${sql.raw(`'${LEARNED}'`)}`,
  );
  const settled = atFirstUse(
    orm
      .select({ payout: payouts })
      .from(payoutAttempts)
      .innerJoin(payouts, eq(payouts.id, payoutAttempts.payoutId))
      .where(
        and(
          isLearned,
          sql`${payouts.kind} IN ('refund', 'return') AND ${payouts.state} = 'succeeded'`,
          sql`${payouts.intent} ->> '$.to' = ${sql.placeholder('to')}`,
        ),
      ),
  );
  const isFailure = gte(payoutAttempts.generation, LEARNED_GENERATION);
  const ofPayer = atFirstUse(
    orm
      .select({ intent: payouts.intent })
      .from(payoutAttempts)
      .innerJoin(payouts, eq(payouts.id, payoutAttempts.payoutId))
      .where(and(isLearned, isFailure)),
  );
  const ofPayout = atFirstUse(
    orm
      .select({ found: count() })
      .from(payoutAttempts)
      .where(and(eq(payoutAttempts.payoutId, sql.placeholder('id')), isFailure)),
  );

  const lastCharged = atFirstUse(
    orm
      .select({ occurrence: max(ledgerEntries.occurrence) })
      .from(ledgerEntries)
      .where(and(eq(ledgerEntries.cause, sql.placeholder('id')), eq(ledgerEntries.kind, sql`'fee'`))),
  );

  /** Returns the first generation that has no cost in the books: of what was adopted since, that stays there. */
  const freeGeneration = (id: string, known: number): number =>
    Math.max(LEARNED_GENERATION + known, (lastCharged.get({ id })?.occurrence ?? 0) + 1);

  /** Returns how many transactions have failed for the same: a refund, or gas or a sweep between the same wallets. */
  function countFailed(intent: Intent, payer: string): number {
    const { id, network } = intent;
    if (isPayback(intent)) return ofPayout.get({ id })?.found ?? 0;
    const same = endsOf(intent);
    return ofPayer.all({ network, payer }).filter((row) => endsOf(row.intent) === same).length;
  }

  return {
    settled: ({ network, to }, payer) => settled.all({ network, to, payer }).map(({ payout }) => payout),
    record(intent, learned, nowMs) {
      const known = countFailed(intent, learned.payer);
      if (known >= GENERATIONS_MAX) return false;
      if (isPayback(intent)) {
        const row = steps.find(intent.id);
        if (!row) return false;
        settlement.chargeLearned(row, learned, freeGeneration(row.id, known), nowMs);
        return true;
      }
      const { kind, payout } = steps.plan({ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs });
      if (kind !== 'planned') return false;
      settlement.chargeLearned(payout, learned, LEARNED_GENERATION, nowMs);
      steps.change(payout, { state: 'failed', ...failedWait, settledAtMs: nowMs }, nowMs);
      return true;
    },
  };
}

const failedWait = {
  waitCode: 'payout_failed',
  waitMessage: 'the transaction was found on the chain after a restore; it had failed, and only its fee was spent',
} as const;

const ends = ['kind', 'currency', 'form', 'index', 'refundIndex', 'from'];
/** Returns what an intent does between which wallets, as text: all but its id and its amounts. */
const endsOf = (intent: Intent): string => JSON.stringify(intent, ends);
