/**
 * Operators' decisions about held money.
 */

import { and, desc, eq } from 'drizzle-orm';
import type { SessionStatus } from '../core/event.ts';
import { type AcceptEffect, type HeldPart, type HeldState, heldParts, openPar } from '../core/held-money.ts';
import { refundEntry } from '../core/ledger.ts';
import { confirmedParts } from '../core/received.ts';
import { exceedsAutomatic, isCovered } from '../core/refund.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { hashOf } from '../lib/id.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { mapInOrder, writeOrTry } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { findRow, haveValues } from './engine/rows.ts';
import { ledgerOf } from './ledger.ts';
import { payoutStepsOf } from './payouts/payouts.ts';
import { destinationColumns, readDestination } from './refunds/destinations.ts';
import {
  type DestinationCheck,
  type DestinationFault,
  isOperators,
  newRefund,
  type Refund,
  type RefundRow,
  refundRowsOf,
  returnsOf,
} from './refunds/refund.ts';
import type { SealedDb } from './sealing.ts';
import { lifeOf, type SessionRow, sessionOf, termsOf } from './session.ts';
import { amountText, countingSums, type HeldRow, heldRecordsOf, transitionsOf } from './session-transitions.ts';
import { storeOf } from './stores.ts';
import { heldMoney as records, sessions } from './tables.ts';

/**
 * One kind of held money of one session, which was open until `expiresAtS`. `settledPar`: the value that operators have
 * decided about. `returns`: all returns, oldest first, with failed ones.
 */
export type HeldMoney = Readonly<Awaited<ReturnType<typeof listHeld>>[number]>;

/** A session after a decision. */
type HeldSession = Readonly<{ status: SessionStatus; confirmedPar: bigint; duePar: bigint; paidLate: boolean }>;

export type AcceptHeldOutcome =
  | Readonly<{ kind: 'done'; effect: AcceptEffect; held: HeldMoney; after: HeldSession }>
  | Readonly<{ kind: 'not_open' | 'not_found' }>;

/** Held money to return. `to` is an address as typed. `network` and `currency` choose one of its parts. */
export type ReturnHeldMoney = Readonly<{
  id: string;
  to: string;
  network?: NetworkKey;
  currency?: Currency;
  act: OperatorAct;
  /**
   * The id of the person who orders the return for the store, whose suspension and limits then apply as to a refund.
   * Null for the operator, to whom they do not apply.
   */
  requestedBy: string | null;
  /** Whether to return the outcome without saving anything. */
  isDryRun: boolean;
}>;

export type ReturnHeldOutcome =
  | Readonly<{ kind: 'done'; refund: Refund }>
  /** The input chose no part, or several. */
  | Readonly<{ kind: 'choose'; parts: readonly HeldPart[] }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /** `refunded`: refunds of the session have used the money. */
  | Readonly<{ kind: 'not_open' | 'not_found' | 'refunded' }>
  /**
   * Refusals of a store's order. `above_limit`: it would need an approval as a refund. `daily_limit`: it exceeds the
   * store's refunds of the day.
   */
  | Readonly<{ kind: 'store_suspended' | 'above_limit' | 'daily_limit' }>;

type HeldFilter = Readonly<{ id?: string; storeId?: string; mode?: Mode; sessionId?: string; state?: HeldState }> &
  Readonly<{ limit: number }>;

const { storeId, mode, orderId, terms, canceledAtS } = sessions;
const sessionColumns = { storeId, mode, orderId, terms, canceledAtS };

/** Returns held money, newest first. Call it within a transaction. */
async function listHeld(db: Db, { storeId, mode, limit, ...values }: HeldFilter) {
  const of = and(haveValues(sessions, { storeId, mode }), haveValues(records, values));
  const all = db.orm.select({ held: records, session: sessionColumns }).from(records);
  const found = all.innerJoin(sessions, eq(sessions.id, records.sessionId)).where(of);
  const newest = found.orderBy(desc(records.openedAtMs), desc(records.id)).limit(limit);
  return mapInOrder(await newest.all(), async ({ held, session: { terms, ...session } }) => {
    const returns = (await returnsOf(db, held.sessionId)).filter(({ kind }) => kind === held.kind);
    return { ...held, ...session, expiresAtS: terms.expiresAtS, returns };
  });
}

export function heldMoneyCommands(db: SealedDb) {
  return {
    /** Returns held money, newest first. */
    async list(filter: HeldFilter): Promise<readonly HeldMoney[]> {
      return db.read(() => listHeld(db, filter));
    },
    async find(id: string): Promise<HeldMoney | null> {
      return (await db.read(() => listHeld(db, { id, limit: 1 })))[0] ?? null;
    },
    /**
     * Accepts open held money (see `core/held-money`). `held` is its state before.
     * @param isDryRun returns the outcome without saving anything
     */
    async accept(id: string, act: OperatorAct, isDryRun: boolean): Promise<AcceptHeldOutcome> {
      return writeOrTry(db, isDryRun, async (): Promise<AcceptHeldOutcome> => {
        const [held] = await listHeld(db, { id, limit: 1 });
        if (!held) return { kind: 'not_found' };
        if (held.state !== 'open') return { kind: 'not_open' };
        await heldRecordsOf(db).settle(held, act.atMs);
        const session = await sessionOf(db, held.sessionId);
        const { effect, life, standing } = await transitionsOf(db).accept(session, held.kind, act.atMs);
        const { status, paidLate } = life;
        const after = { status, paidLate, duePar: session.terms.duePar, confirmedPar: standing.confirmedPar };
        const what = { session: session.id, kind: held.kind, amount: amountText(openPar(held), held.currency) };
        await recordAct(db, act, {
          target: id,
          before: { ...what, state: 'open', status: session.status },
          after: { ...what, state: 'settled', status },
        });
        return { kind: 'done', effect, held, after };
      });
    },
  };
}

// ── Returns ──────────────────────────────────────────────────────────────────────────────────────────────────────────
// The operator, or an owner of the store, sends held money back. A return is a refund that no merchant requested
// through the API. It has an intent of its own, and is paid like any other refund.

/** Derives a return's id from the part that it returns, and from the number of earlier returns of it. */
function returnIdOf(row: HeldRow, { network, currency }: HeldPart, count: number): string {
  const name = JSON.stringify(['held return', row.sessionId, row.kind, network, currency, count]);
  return `rt_${hashOf(name).slice(0, 32)}`;
}

/** Returns why a store may not order this return itself; null if it may, and for the operator. */
async function refusalOf(db: SealedDb, row: RefundRow, nowMs: number): Promise<ReturnHeldOutcome | null> {
  const rows = refundRowsOf(db);
  const { storeId, mode, amountMinor } = row;
  if (isOperators(row)) return null;
  const { policy, isSuspended } = await storeOf(db, storeId);
  if (isSuspended()) return { kind: 'store_suspended' };
  if (exceedsAutomatic(amountMinor, await rows.recent(row, nowMs), policy)) return { kind: 'above_limit' };
  const isWithinDay = (await rows.todayMinor(storeId, mode, nowMs)) + amountMinor <= BigInt(policy.refundDailyMinor);
  return isWithinDay ? null : { kind: 'daily_limit' };
}

export function heldReturnCommands(db: SealedDb) {
  const rows = refundRowsOf(db);
  const payouts = payoutStepsOf(db);
  const transitions = transitionsOf(db);

  /** Returns an id that is used neither in this database nor in the adopted journal of the signer. */
  async function freeId(of: HeldRow, part: HeldPart): Promise<string> {
    for (let count = 0; ; count++) {
      const id = returnIdOf(of, part, count);
      if (!(await rows.find(id)) && !(await payouts.find(id))) return id;
    }
  }

  async function rowOf(
    session: SessionRow,
    of: HeldRow,
    part: HeldPart,
    { act: { atMs: nowMs }, requestedBy }: ReturnHeldMoney,
  ): Promise<Omit<RefundRow, 'destination'>> {
    const { id: sessionId, storeId, mode } = session;
    const id = await freeId(of, part);
    // The order itself is the approval. Above its caps the signer asks for another one.
    const decided = { approvedAtMs: nowMs, createdAtMs: nowMs, requestedBy, heldKind: of.kind };
    return { ...newRefund, ...part, ...decided, id, sessionId, storeId, mode, refundId: id, bodyHash: '' };
  }

  async function returnNow(input: ReturnHeldMoney, check: DestinationCheck): Promise<ReturnHeldOutcome> {
    const { id, to, network, currency, act } = input;
    const row = await findRow(db, records, { id });
    if (!row) return { kind: 'not_found' };
    if (row.state !== 'open') return { kind: 'not_open' };
    const session = await sessionOf(db, row.sessionId);
    // The clock may change the session first.
    await transitions.advance(session, act.atMs, null, []);
    const now = await sessionOf(db, session.id);
    const counting = await countingSums(db, now, now.sums);
    const all = heldParts(termsOf(now), lifeOf(now), counting, row.kind, openPar(row));
    const wanted = all.filter(
      (part) => (network ?? part.network) === part.network && (currency ?? part.currency) === part.currency,
    );
    const [part, ...others] = wanted;
    if (!part || others.length > 0) return { kind: 'choose', parts: all };
    const earlier = await rows.ofSession(session.id);
    if (!isCovered(part.currency, confirmedParts(now.sums), [...earlier, { ...part, status: 'pending' }])) {
      return { kind: 'refunded' };
    }
    const payee = await readDestination(db, part.network, now.mode, to, check);
    if (typeof payee === 'object') return { kind: 'bad_destination', why: payee.why };
    const bare = await rowOf(now, row, part, input);
    const by = input.requestedBy === null ? 'operator' : 'merchant';
    const made = { ...bare, ...destinationColumns(db, bare, payee, by) };
    const refused = await refusalOf(db, made, act.atMs);
    if (refused) return refused;
    await rows.insert(made);
    await ledgerOf(db).post(refundEntry(made, 'reserved'), act.atMs);
    await transitions.followReturn(now, act.atMs);
    const refund = await rows.view(made);
    await recordAct(db, act, {
      target: id,
      before: { session: session.id, kind: row.kind, state: row.state },
      after: {
        return: made.id,
        amount: `${refund.amountMinor} cents of ${part.currency}`,
        network: part.network,
        destination: refund.destination?.address ?? null,
      },
    });
    return { kind: 'done', refund };
  }

  return {
    /**
     * Begins to return open held money. From then on the money counts for nothing, and can be neither accepted nor
     * refunded. If the return fails, the money is held again.
     */
    async giveBack(input: ReturnHeldMoney, check: DestinationCheck): Promise<ReturnHeldOutcome> {
      return writeOrTry(db, input.isDryRun, () => returnNow(input, check));
    },
  };
}
