/**
 * Attempts of payouts, and their sequence numbers.
 */
import { and, asc, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { RefundGates } from '../../core/gates.ts';
import { isPayback } from '../../core/intent.ts';
import { ATTEMPTS_MAX, IN_FLIGHT_MAX } from '../../core/payout.ts';
import { reason } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { RaiseAlarm } from '../alarms.ts';
import { isSameIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, laterValues, preparedInsert } from '../engine/prepared.ts';
import type { Ledger } from '../ledger.ts';
import type { AttemptName, JournaledSignature, MoneyOutDatabase, OpenPayout } from '../money-out.ts';
import { lanes, payoutAttempts, payoutEngines, payouts } from '../tables.ts';
import { type Freezer, type FreezesOf, NONCE_FOREIGN } from './freezes.ts';
import { isHeldAtGate } from './gates.ts';
import { noWait, type Payouts } from './payouts.ts';
import { type AttemptRow, type PayoutRow, toAttempt, toPayout } from './rows.ts';

type AttemptCommands = Pick<
  MoneyOutDatabase,
  | 'openPayouts'
  | 'offerNonce'
  | 'listForeignNonces'
  | 'passNonces'
  | 'allotAttempt'
  | 'withdrawAttempt'
  | 'recordSigned'
  | 'recordSent'
>;

type LaneRow = typeof lanes.$inferSelect;

/** Largest share of the concurrent payouts that may be something other than refunds. */
const OTHERS_SHARE_MAX = 0.75;

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  raiseAlarm: RaiseAlarm;
  refundGates(id: string): RefundGates;
  freezesOf: FreezesOf;
  freezer: Freezer;
  /** The approvers' approvals of a refund. */
  approvalsOf(id: string): OpenPayout['approvals'];
}>;

export function payoutAttemptCommands(db: Db, parts: Parts): AttemptCommands {
  const { steps, ledger, raiseAlarm, freezer, approvalsOf } = parts;
  const {
    insert,
    find,
    remove,
    setSigned,
    setSent,
    findLane,
    foreignLanes,
    insertLane,
    moveLane,
    unsigned,
    moveJournal,
  } = attemptStatements(db);
  const { sent, dueRefunds, dueOthers } = openStatements(db);
  const findAttempt = ({ id, generation, attempt }: AttemptName): AttemptRow | undefined =>
    find.get({ id, generation, attempt });

  /** Returns whether a journal entry is what was allotted here. */
  const isOurs = (row: AttemptRow | undefined, signature: JournaledSignature): boolean => {
    const payout = steps.find(signature.intent.id);
    return (
      row !== undefined &&
      payout !== undefined &&
      isSameIntent(payout.intent, signature.intent) &&
      isSameTerms(row.terms, signature.terms) &&
      (row.tx === null || row.tx === signature.tx)
    );
  };

  function lane(network: NetworkKey, payer: string, firstNonce: number): LaneRow {
    const known = findLane.get({ network, payer });
    if (known) return known;
    const row: LaneRow = { network, payer, nextNonce: firstNonce, countedNonce: null };
    insertLane(row);
    return row;
  }

  function freezeForeign(row: LaneRow, countedNonce: number, nowMs: number): void {
    const { network, payer, nextNonce: ours } = row;
    if ((row.countedNonce ?? 0) < countedNonce) moveLane.run({ ...row, countedNonce });
    const unknown = `a node counts ${countedNonce} transactions of wallet ${payer}, and ${ours} were made here`;
    if (!freezer.byProgram(network, NONCE_FOREIGN, unknown, nowMs)) return;
    const why = reason(NONCE_FOREIGN, { network, payer, ours, counted: countedNonce });
    raiseAlarm({ atMs: nowMs, ...why, network, sessionId: null });
  }

  const withAttempts = (row: PayoutRow) => ({
    payout: toPayout(row),
    attempts: row.state === 'sent' ? steps.attempts(row).map(toAttempt) : [],
    approvals: isPayback(row.intent) ? approvalsOf(row.id) : [],
  });

  return {
    async openPayouts(network, nowMs, limit) {
      return db.read(() => {
        const open = sent.all({ network, limit });
        const free = limit - open.length;
        // Refunds have reserved places: sweeps that wait for finality are in no hurry.
        const others = open.filter(({ intent }) => !isPayback(intent)).length;
        const freeForOthers = Math.min(Math.ceil(free / 2), Math.ceil(limit * OTHERS_SHARE_MAX) - others);
        const soon = dueOthers.all({ network, nowMs, limit: Math.max(0, freeForOthers) });
        const first = dueRefunds.all({ network, nowMs, limit: Math.max(0, free - soon.length) });
        return [...open, ...first, ...soon].map(withAttempts);
      });
    },
    async offerNonce(network, payer, { final, head, pending }, nowMs) {
      return db.write(() => {
        // What is at the head may vanish, and nonces that follow it could then never be used.
        if (final === null && head > 0 && !findLane.get({ network, payer })) return { kind: 'unsettled' };
        const row = lane(network, payer, final ?? 0);
        const counted = Math.max(final ?? 0, head, pending);
        if (counted > row.nextNonce) {
          freezeForeign(row, counted, nowMs);
          return { kind: 'busy' };
        }
        const isFull = row.nextNonce - (final ?? head) >= IN_FLIGHT_MAX;
        return isFull || unsigned.get({ network, payer }) ? { kind: 'busy' } : { kind: 'free', nonce: row.nextNonce };
      });
    },
    async listForeignNonces(network) {
      return db
        .read(() => foreignLanes.all({ network }))
        .map(({ payer, nextNonce, countedNonce }) => ({
          payer,
          nextNonce,
          counted: countedNonce ?? nextNonce,
        }));
    },
    async passNonces(network, payer, nextNonce) {
      await db.write(() => {
        const row = lane(network, payer, nextNonce);
        moveLane.run({ ...row, nextNonce: Math.max(row.nextNonce, nextNonce), countedNonce: null });
      });
    },
    async allotAttempt({ id, generation, attempt, intent, payer, payerRole, nonce, terms, feeUnitsMax, nowMs }) {
      return db.write(() => {
        const payout = steps.find(id);
        const isOpen = payout?.state === 'waiting' || payout?.state === 'sent';
        if (!isOpen || payout.generation !== generation || payout.notBeforeMs > nowMs) return { kind: 'moved' };
        // A refund may have been given another destination since the engine looked.
        if (!isSameIntent(payout.intent, intent)) return { kind: 'moved' };
        const before = steps.attempts(payout);
        if (before.length !== attempt || attempt >= ATTEMPTS_MAX) return { kind: 'moved' };
        const { network } = payout;
        if (isHeldAtGate(parts, payout, attempt, nowMs)) return { kind: 'moved' };
        if (nonce !== null && unsigned.get({ network, payer })) return { kind: 'moved' };
        if (attempt > 0) {
          // Two attempts with different numbers could both be mined.
          invariant(nonce !== null && before[0]?.nonce === nonce, `a replacement of payout ${id} uses its number`);
        } else if (nonce !== null) {
          const row = findLane.get({ network, payer });
          if (row?.nextNonce !== nonce) return { kind: 'moved' };
          moveLane.run({ ...row, nextNonce: nonce + 1 });
        }
        const row: AttemptRow = {
          payoutId: id,
          generation,
          attempt,
          network,
          payer,
          payerRole,
          nonce,
          terms,
          feeUnitsMax,
          tx: null,
          bytes: null,
          allottedAtMs: nowMs,
          signedAtMs: null,
          sentAtMs: null,
          answerCode: null,
          answer: null,
          feeUnits: null,
        };
        insert(row);
        steps.change(payout, { state: 'sent', ...noWait }, nowMs);
        return { kind: 'allotted', attempt: toAttempt(row) };
      });
    },
    async withdrawAttempt({ wait, nextLookAtMs, nowMs, ...name }) {
      return db.write(() => {
        const payout = steps.find(name.id);
        const row = findAttempt(name);
        if (!payout || !row) return false;
        invariant(row.tx === null, `attempt ${name.attempt} of payout ${name.id} was never signed`);
        remove.run(name);
        if (row.attempt === 0 && row.nonce !== null) {
          const { network, payer, nonce } = row;
          const wallet = findLane.get({ network, payer });
          invariant(wallet?.nextNonce === nonce + 1, `number ${nonce} of ${payer} on ${network} was given out last`);
          moveLane.run({ ...wallet, nextNonce: nonce });
        }
        // An earlier attempt continues as it was; only the replacement was refused.
        const state = row.attempt === 0 ? 'waiting' : payout.state;
        steps.waitFor(payout, wait, { state, notBeforeMs: Math.round(nextLookAtMs) }, nowMs);
        return true;
      });
    },
    async recordSigned(network, signatures) {
      return db.write(() => {
        for (const signature of signatures) {
          const { id: journalId, generation, attempt, tx, bytes, signedAtMs } = signature;
          const name = { id: signature.intent.id, generation, attempt };
          const row = findAttempt(name);
          if (!isOurs(row, signature)) return { kind: 'stray', signature };
          if (row?.tx === null) setSigned.run({ ...name, tx, bytes: Buffer.from(bytes), signedAtMs });
          moveJournal.run({ network, journalId });
        }
        return { kind: 'recorded' };
      });
    },
    async recordSent({ answerCode, answer, refusal, nowMs, ...name }) {
      await db.write(() => {
        const payout = steps.find(name.id);
        const row = findAttempt(name);
        invariant(payout && row && row.tx !== null, `the sent attempt of payout ${name.id} was recorded`);
        setSent.run({ ...name, sentAtMs: row.sentAtMs ?? nowMs, answerCode, answer });
        ledger.transit(payout.intent, true, nowMs);
        steps.waitFor(payout, refusal, {}, nowMs);
      });
    },
  };
}

function attemptStatements(db: Db) {
  const insert = preparedInsert(db, payoutAttempts);
  const isNamed = and(
    eq(payoutAttempts.payoutId, sql.placeholder('id')),
    eq(payoutAttempts.generation, sql.placeholder('generation')),
    eq(payoutAttempts.attempt, sql.placeholder('attempt')),
  );
  const find = atFirstUse(db.orm.select().from(payoutAttempts).where(isNamed));
  const remove = atFirstUse(db.orm.delete(payoutAttempts).where(isNamed));
  const setSigned = atFirstUse(
    db.orm
      .update(payoutAttempts)
      .set(laterValues(payoutAttempts, ['tx', 'bytes', 'signedAtMs']))
      .where(isNamed),
  );
  const setSent = atFirstUse(
    db.orm
      .update(payoutAttempts)
      .set(laterValues(payoutAttempts, ['sentAtMs', 'answerCode', 'answer']))
      .where(isNamed),
  );
  const isLane = and(eq(lanes.network, sql.placeholder('network')), eq(lanes.payer, sql.placeholder('payer')));
  const findLane = atFirstUse(db.orm.select().from(lanes).where(isLane));
  const foreignLanes = atFirstUse(
    db.orm
      .select()
      .from(lanes)
      .where(and(eq(lanes.network, sql.placeholder('network')), isNotNull(lanes.countedNonce)))
      .orderBy(asc(lanes.payer)),
  );
  const insertLane = preparedInsert(db, lanes);
  const moveLane = atFirstUse(
    db.orm
      .update(lanes)
      .set(laterValues(lanes, ['nextNonce', 'countedNonce']))
      .where(isLane),
  );
  const unsigned = atFirstUse(
    db.orm
      .select({ nonce: payoutAttempts.nonce, attempt: payoutAttempts.attempt })
      .from(payoutAttempts)
      .where(
        and(
          eq(payoutAttempts.network, sql.placeholder('network')),
          eq(payoutAttempts.payer, sql.placeholder('payer')),
          isNotNull(payoutAttempts.nonce),
          isNull(payoutAttempts.tx),
        ),
      ),
  );
  const moveJournal = atFirstUse(
    db.orm
      .update(payoutEngines)
      .set({ journalId: sql`max(${payoutEngines.journalId}, ${sql.placeholder('journalId')})` })
      .where(eq(payoutEngines.network, sql.placeholder('network'))),
  );
  return {
    insert,
    find,
    remove,
    setSigned,
    setSent,
    findLane,
    foreignLanes,
    insertLane,
    moveLane,
    unsigned,
    moveJournal,
  };
}

/** What the engine works on: what is sent, and what is due, each in the order in which it is looked at next. */
function openStatements(db: Db) {
  const isOfNetwork = eq(payouts.network, sql.placeholder('network'));
  const sent = atFirstUse(
    db.orm
      .select()
      .from(payouts)
      .where(and(isOfNetwork, eq(payouts.state, sql`'sent'`)))
      .orderBy(asc(payouts.notBeforeMs))
      .limit(sql.placeholder('limit')),
  );
  const dueOf = (isWanted: SQL) =>
    atFirstUse(
      db.orm
        .select()
        .from(payouts)
        .where(
          and(
            isOfNetwork,
            isWanted,
            eq(payouts.state, sql`'waiting'`),
            sql`${payouts.notBeforeMs} <= ${sql.placeholder('nowMs')}`,
            sql`NOT EXISTS (SELECT 1 FROM ${payouts} AS giver WHERE giver.serves_id = ${payouts.id} AND giver.state IN ('waiting', 'sent', 'stuck'))`,
          ),
        )
        .orderBy(asc(payouts.notBeforeMs))
        .limit(sql.placeholder('limit')),
    );
  const dueRefunds = dueOf(sql`${payouts.kind} IN ('refund', 'return')`);
  const dueOthers = dueOf(sql`${payouts.kind} NOT IN ('refund', 'return')`);
  return { sent, dueRefunds, dueOthers };
}

/** Terms are flat, and the order of their names does not matter. */
function isSameTerms(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
