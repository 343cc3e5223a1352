/**
 * Payouts: planning, waiting, ending. Each step also updates the ledger and the refund that the payout pays.
 */
import { and, eq, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { isPayback, type PaybackIntent } from '../../core/intent.ts';
import type { Attempt, Ended, PayoutWait } from '../../core/payout.ts';
import { isUnsigned } from '../../core/payout-exit.ts';
import type { RefundEnd } from '../../core/refund.ts';
import type { RaiseAlarm } from '../alarms.ts';
import { isSameIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, laterValues, preparedInsert } from '../engine/prepared.ts';
import type { Ledger } from '../ledger.ts';
import type { EngineReason, MoneyOutDatabase, NewPayout, PayoutName } from '../money-out.ts';
import type { EqualTransfer } from '../outgoing.ts';
import { payoutAttempts, payouts, sweepParts } from '../tables.ts';
import { type Certainty, createCertainty } from './certainty.ts';
import type { Freezer, FreezesOf } from './freezes.ts';
import { createPayoutNames } from './names.ts';
import type { Outgoing } from './outgoing.ts';
import { type RefundHold, unexplainedHold } from './refund-holds.ts';
import type { AttemptRow, PayoutRow } from './rows.ts';

type PayoutCommands = Pick<
  MoneyOutDatabase,
  | 'planPayouts'
  | 'cancelPayout'
  | 'payoutDoubt'
  | 'recordWait'
  | 'recordFault'
  | 'settlePayout'
  | 'newGeneration'
  | 'stickPayout'
>;

/**
 * Result of planning a payout. `known`: the signer's journal had it before, and it may have ended since. `other`: a
 * different intent was signed under this id.
 */
type Planned = Readonly<{ kind: 'planned' | 'known' | 'other'; payout: PayoutRow }>;

/** To be called within a transaction. */
export type Payouts = PayoutSteps & Certainty;

type PayoutSteps = Readonly<{
  find(id: string): PayoutRow | undefined;
  /** Returns an acknowledged transfer that may have paid a refund, of which nobody has said that it did not. */
  findEqual(row: PayoutRow): EqualTransfer | null;
  /** Returns why a refund is neither paid nor ended: a transfer that no attempt explains may have paid it. */
  unexplainedHold(row: Pick<PayoutRow, 'id' | 'intent' | 'notPaidThrough'>): RefundHold | null;
  /**
   * Saves a payout. An existing one stays as it is, except that a refund or return without a session gets it.
   * @param poolId of a sweep: the pool of its indices; omitted if only the signer's journal knows the sweep
   */
  plan(input: NewPayout, poolId?: number): Planned;
  /**
   * Cancels a payout none of whose attempts can take effect: no attempt is allotted, and those of earlier generations
   * have provably ended; false otherwise.
   * @param generationMax 0 for a payout that was never signed
   */
  cancel(id: string, nowMs: number, generationMax?: number): boolean;
  /** Returns whether a payout is not canceled only because it may have been paid by what is not known here. */
  isInDoubt(id: string, generationMax: number): boolean;
  /** Gives a refund's payout another payee; false once an attempt is allotted or it has ended. */
  redirect(intent: PaybackIntent, notBeforeMs: number, nowMs: number): boolean;
  /** Makes a payout due now if it waits for an approval or the signer's cap. */
  hasten(id: string, nowMs: number): void;
  /** Updates the columns that change during a payout's life. */
  change(row: PayoutRow, changes: Partial<Changing>, nowMs: number): PayoutRow;
  /** Raises the alarm that a payout needs a person. */
  report(row: PayoutRow, why: EngineReason, nowMs: number): void;
  /** Saves what a payout waits for; null: nothing. What no other of its network waits for may raise an alarm. */
  waitFor(row: PayoutRow, wait: PayoutWait | null, changes: Partial<Changing>, nowMs: number): void;
  attempts(name: PayoutName): AttemptRow[];
}>;

const changingNames = [
  'intent',
  'sessionId',
  'state',
  'generation',
  'proof',
  'waitCode',
  'waitMessage',
  'faultCode',
  'faultMessage',
  'notBeforeMs',
  'tx',
  'feeUnits',
  'updatedAtMs',
  'settledAtMs',
  'notPaidThrough',
  'shownTransferId',
] as const satisfies readonly (keyof PayoutRow)[];
type Changing = Pick<PayoutRow, (typeof changingNames)[number]>;

/** What an approval may end. */
const approvable: readonly string[] = ['signer_refused_approval', 'signer_refused_cap', 'refund_unapproved'];

export const noFault = { faultCode: null, faultMessage: null } as const;
/** Waits for nothing. */
export const noWait = { waitCode: null, waitMessage: null, ...noFault } as const;

export function createPayouts(
  db: Db,
  {
    raiseAlarm,
    outgoing,
    freezesOf,
  }: Readonly<{ raiseAlarm: RaiseAlarm; outgoing: Pick<Outgoing, 'mayHavePaid' | 'findEqual'>; freezesOf: FreezesOf }>,
): Payouts {
  const find = atFirstUse(
    db.orm
      .select()
      .from(payouts)
      .where(eq(payouts.id, sql.placeholder('id'))),
  );
  const insert = preparedInsert(db, payouts);
  const insertPart = preparedInsert(db, sweepParts);
  const update = atFirstUse(
    db.orm
      .update(payouts)
      .set(laterValues(payouts, changingNames))
      .where(eq(payouts.id, sql.placeholder('id'))),
  );
  const attempts = atFirstUse(
    db.orm
      .select()
      .from(payoutAttempts)
      .where(
        and(
          eq(payoutAttempts.payoutId, sql.placeholder('id')),
          eq(payoutAttempts.generation, sql.placeholder('generation')),
        ),
      )
      .orderBy(payoutAttempts.attempt),
  );
  const certainty = createCertainty(db, freezesOf);
  const nameOf = createPayoutNames(db);
  const othersWait = atFirstUse(
    db.orm
      .select({ id: payouts.id })
      .from(payouts)
      .where(
        and(
          eq(payouts.network, sql.placeholder('network')),
          sql`${payouts.state} IN ('waiting', 'sent')`,
          eq(payouts.waitCode, sql.placeholder('waitCode')),
          sql`${payouts.id} <> ${sql.placeholder('id')}`,
        ),
      )
      .limit(1),
  );

  const change: Payouts['change'] = (row, changes, nowMs) => {
    // They belong to what the payout waits for, so another reason drops them.
    const after = { ...row, ...changes, updatedAtMs: nowMs };
    update.run(after);
    return after;
  };

  const report: Payouts['report'] = (row, { code, message }, atMs) => {
    const { network, sessionId } = row;
    raiseAlarm({ atMs, code, message: `${nameOf(row)}: ${message}`, network, sessionId });
  };

  const findEqual: Payouts['findEqual'] = ({ intent, notPaidThrough }) =>
    isPayback(intent) ? outgoing.findEqual(intent, notPaidThrough) : null;
  const holdOf: Payouts['unexplainedHold'] = (row) =>
    isPayback(row.intent) ? unexplainedHold(outgoing, row, row.intent) : null;

  /** Returns a payout of which nothing known can take effect, or null. `generationMax` 0: nothing was signed. */
  function findUnsigned(id: string, generationMax: number): PayoutRow | null {
    const row = find.get({ id });
    if (!row || row.generation > generationMax) return null;
    // The signer refused it for good, or all that it signed has failed.
    return isUnsigned(row.state, attempts.all(row).length) ? row : null;
  }

  const mayBePaid = (row: PayoutRow): boolean => certainty.doubtUnseen(row) !== null || holdOf(row) !== null;

  function findEnded(id: string, generationMax: number): PayoutRow | null {
    const row = findUnsigned(id, generationMax);
    return row && !mayBePaid(row) ? row : null;
  }

  return {
    ...certainty,
    find: (id) => find.get({ id }),
    findEqual,
    unexplainedHold: holdOf,
    plan(input, poolId) {
      const { intent, sessionId, nowMs } = input;
      const known = find.get({ id: intent.id });
      if (known) {
        if (!isSameIntent(known.intent, intent)) return { kind: 'other', payout: known };
        const isTied = sessionId === null || known.sessionId !== null;
        return { kind: 'known', payout: isTied ? known : change(known, { sessionId }, nowMs) };
      }
      const row = newRow(input);
      insert(row);
      if (intent.kind === 'sweep') {
        const { id: payoutId, network, currency } = intent;
        for (const { index, units } of intent.from) {
          insertPart({ payoutId, network, derivationIndex: index, currency, poolId: poolId ?? null, units });
        }
      }
      return { kind: 'planned', payout: row };
    },
    cancel(id, nowMs, generationMax = Number.POSITIVE_INFINITY) {
      const row = findEnded(id, generationMax);
      if (row) change(row, { state: 'canceled', ...noWait, settledAtMs: nowMs }, nowMs);
      return row !== null;
    },
    isInDoubt(id, generationMax) {
      const row = findUnsigned(id, generationMax);
      return row !== null && mayBePaid(row);
    },
    redirect(intent, notBeforeMs, nowMs) {
      const row = findEnded(intent.id, 0);
      if (row) change(row, { intent, state: 'waiting', ...noWait, notBeforeMs }, nowMs);
      return row !== null;
    },
    hasten(id, nowMs) {
      const row = find.get({ id });
      const isRefused = row?.waitCode && approvable.includes(row.waitCode);
      if (row?.state === 'waiting' && isRefused) change(row, { notBeforeMs: nowMs }, nowMs);
    },
    change,
    report,
    waitFor(row, wait, changes, nowMs) {
      const waitCode = wait?.code ?? null;
      const waitMessage = wait?.message ?? null;
      const isSame = row.waitCode === waitCode && row.waitMessage === waitMessage;
      if (!isSame || Object.keys(changes).length > 0) change(row, { ...changes, waitCode, waitMessage }, nowMs);
      if (wait === null || row.waitCode === waitCode) return;
      if (!othersWait.get({ ...row, waitCode })) report(row, wait, nowMs);
    },
    attempts: ({ id, generation }) => attempts.all({ id, generation }),
  };
}

const newRow = ({ intent, sessionId, servesId, notBeforeMs, nowMs }: NewPayout): PayoutRow => ({
  id: intent.id,
  kind: intent.kind,
  network: intent.network,
  intent,
  sessionId,
  servesId,
  state: 'waiting',
  generation: 0,
  proof: null,
  ...noWait,
  notBeforeMs,
  tx: null,
  feeUnits: null,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  settledAtMs: null,
  notPaidThrough: null,
  shownTransferId: null,
});

/** A final transaction that paid a payout or failed to, and of which this database has no attempt. */
export type Learned = Ended & Pick<Attempt, 'payer' | 'payerRole'>;

/** To be called within a transaction. */
export type PayoutSettlement = Readonly<{
  /** Saves what a final attempt cost, with the attempt and in the ledger, only once. */
  charge(row: PayoutRow, ended: Ended, nowMs: number): void;
  succeed(row: PayoutRow, ended: Ended, nowMs: number): void;
  /**
   * Settles a payout none of whose known attempts can take effect, with one that is learned from the chain: a database
   * that was restored from a backup does not know its newest ones.
   */
  succeedLearned(row: PayoutRow, learned: Learned, nowMs: number): void;
  /** Fails a payout. A refund that may have been paid waits instead: its amount, once freed, could be paid again. */
  fail(row: PayoutRow, why: EngineReason, nowMs: number): void;
}>;

/** Ends the refund that a payout pays, in the same transaction. */
export type FollowRefund = (id: string, end: RefundEnd, nowMs: number) => void;

/** Updates what a session holds after a return changed that only the signer's journal knew. */
export type FollowLost = (row: PayoutRow, nowMs: number) => void;

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  settlement: PayoutSettlement;
  freezer: Freezer;
}>;

export function payoutCommands(db: Db, { steps, ledger, settlement, freezer }: Parts): PayoutCommands {
  /** Changes a payout that is open and in this generation; returns false when a merchant or an operator was faster. */
  function withOpen({ id, generation }: PayoutName, work: (row: PayoutRow) => void): Promise<boolean> {
    return db.write(() => {
      const row = steps.find(id);
      const isOpen = row?.state === 'waiting' || row?.state === 'sent';
      if (!row || !isOpen || row.generation !== generation) return false;
      work(row);
      return true;
    });
  }

  return {
    async planPayouts(inputs) {
      await db.write(() => {
        for (const input of inputs) {
          invariant(steps.plan(input).kind !== 'other', `payout ${input.intent.id} keeps its intent`);
        }
      });
    },
    async cancelPayout(id, nowMs) {
      return db.write(() => steps.cancel(id, nowMs));
    },
    async payoutDoubt(id) {
      return db.read(() => {
        const row = steps.find(id);
        return row ? steps.doubtUnseen(row) : null;
      });
    },
    async recordWait({ wait, nextLookAtMs, nowMs, ...name }) {
      return withOpen(name, (row) => steps.waitFor(row, wait, { notBeforeMs: Math.round(nextLookAtMs) }, nowMs));
    },
    async recordFault({ fault, nowMs, ...name }) {
      return withOpen(name, (row) =>
        steps.change(row, { faultCode: fault?.code ?? null, faultMessage: fault?.message ?? null }, nowMs),
      );
    },
    async settlePayout({ outcome, nowMs, ...name }) {
      return withOpen(name, (row) => {
        if (outcome.kind === 'succeeded') settlement.succeed(row, outcome.ended, nowMs);
        else settlement.fail(row, outcome, nowMs);
      });
    },
    async newGeneration({ id, generation, proof, ended, notBeforeMs, isStuck, why, nowMs }) {
      return withOpen({ id, generation }, (row) => {
        if (ended) settlement.charge(row, ended, nowMs);
        ledger.transit(row.intent, false, nowMs);
        const state = isStuck ? 'stuck' : 'waiting';
        steps.waitFor(row, why, { state, generation: generation + 1, proof, ...noFault, notBeforeMs }, nowMs);
      });
    },
    async stickPayout({ why, freezes, nowMs, ...name }) {
      return withOpen(name, (row) => {
        steps.change(row, { state: 'stuck', waitCode: why.code, waitMessage: why.message, ...noFault }, nowMs);
        if (freezes) freezer.byProgram(row.network, why.code, why.message, nowMs);
        steps.report(row, why, nowMs);
      });
    },
  };
}
