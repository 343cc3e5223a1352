/**
 * Operators' decisions about held money.
 */

import { and, desc, eq } from 'drizzle-orm';
import type { SessionStatus } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import { type AcceptEffect, type HeldPart, type HeldState, openPar } from '../core/held-money.ts';
import type { Life, Standing } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import type { DestinationFault, HeldReturn, Refund, ReturnedMoney } from './refunds/refund.ts';
import type { SessionRow } from './session.ts';
import { amountText, type HeldRecords, type HeldRow, type SessionTransitions } from './session-transitions.ts';
import type { FindSessionRow } from './sessions.ts';
import { heldMoney as records, sessions } from './tables.ts';

/** One kind of held money of one session. `settledPar`: how much of the value operators have decided about. */
export type HeldMoney = HeldRow &
  Pick<SessionRow, 'storeId' | 'mode' | 'orderId' | 'canceledAtS'> &
  Readonly<{
    /** Until when its session waited. */
    expiresAtS: number;
    /** Oldest first, with those that failed. */
    returns: readonly HeldReturn[];
  }>;

/** Columns of a session that a decision changes. */
export type HeldSession = Readonly<{ status: SessionStatus; confirmedPar: bigint; duePar: bigint; paidLate: boolean }>;

export type AcceptHeldOutcome =
  | Readonly<{ kind: 'done'; effect: AcceptEffect; held: HeldMoney; before: HeldSession; after: HeldSession }>
  | Readonly<{ kind: 'not_open'; held: HeldMoney }>
  | Readonly<{ kind: 'not_found' }>;

/**
 * Held money to return. `to` is the address as somebody typed it; null: the only sender of that money. `network` and
 * `currency` choose among its parts.
 */
export type ReturnHeldMoney = Readonly<{
  id: string;
  to: string | null;
  network?: NetworkKey;
  currency?: Currency;
  act: OperatorAct;
  /**
   * The id of the person who orders it for the store: it is then the store's, like a refund. Null for the operator,
   * whom neither the store's suspension nor its limits bind.
   */
  requestedBy: string | null;
  /** Nothing is saved; the outcome is what it would be. */
  isDryRun: boolean;
}>;

export type ReturnHeldOutcome =
  | Readonly<{ kind: 'done'; refund: Refund }>
  /** None of its parts was chosen, or several were. */
  | Readonly<{ kind: 'choose'; parts: readonly HeldPart[] }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /**
   * `refunded`: refunds of the session have used it. `senders_differ`: it came from nobody or from several addresses.
   * `not_adopted`: the database was restored from a backup and may lack returns that were paid.
   */
  | Readonly<{ kind: 'not_open' | 'not_found' | 'refunded' | 'senders_differ' | 'not_adopted' }>
  /**
   * Of what a store orders alone. `above_limit`: it is more than is refunded without an approval. `daily_limit`: more
   * than the store may still refund today.
   */
  | Readonly<{ kind: 'store_suspended' | 'above_limit' | 'daily_limit' }>;

type HeldFilter = Readonly<{ storeId?: string; mode?: Mode; sessionId?: string; state?: HeldState; limit: number }>;

const { storeId, mode, orderId, terms, canceledAtS } = sessions;
const sessionColumns = { storeId, mode, orderId, terms, canceledAtS };

export function heldMoneyCommands(
  db: Db,
  parts: Readonly<{
    held: HeldRecords;
    transitions: SessionTransitions;
    findSession: FindSessionRow;
    recordAct: RecordAct;
    returned: ReturnedMoney;
  }>,
) {
  const { held, transitions, findSession, recordAct, returned } = parts;
  const viewOf = async (
    row: HeldRow,
    { storeId, mode, orderId, terms, canceledAtS }: Pick<SessionRow, keyof typeof sessionColumns>,
  ) =>
    ({
      ...row,
      storeId,
      mode,
      orderId,
      expiresAtS: terms.expiresAtS,
      canceledAtS,
      returns: (await returned.list(row.sessionId)).filter(({ kind }) => kind === row.kind),
    }) satisfies HeldMoney;

  const faceOf = (
    { terms }: SessionRow,
    life: Pick<Life, 'status' | 'paidLate'>,
    { confirmedPar }: Pick<Standing, 'confirmedPar'>,
  ): HeldSession => ({ status: life.status, paidLate: life.paidLate, duePar: terms.duePar, confirmedPar });

  async function sessionOf(row: HeldRow): Promise<SessionRow> {
    const session = await findSession(row.sessionId);
    invariant(session, `session ${row.sessionId} of held money exists`);
    return session;
  }

  return {
    /** Returns held money, newest first. */
    async list({ storeId, mode, sessionId, state, limit }: HeldFilter): Promise<readonly HeldMoney[]> {
      const of = and(
        storeId === undefined ? undefined : eq(sessions.storeId, storeId),
        mode === undefined ? undefined : eq(sessions.mode, mode),
        sessionId === undefined ? undefined : eq(records.sessionId, sessionId),
        state === undefined ? undefined : eq(records.state, state),
      );
      const all = db.orm.select({ held: records, session: sessionColumns }).from(records);
      const found = all.innerJoin(sessions, eq(sessions.id, records.sessionId)).where(of);
      const newest = found.orderBy(desc(records.openedAtMs), desc(records.id)).limit(limit);
      return db.read(async () => mapInOrder(await newest.all(), ({ held: row, session }) => viewOf(row, session)));
    },
    async find(id: string): Promise<HeldMoney | null> {
      return db.read(async () => {
        const row = await held.find(id);
        return row ? await viewOf(row, await sessionOf(row)) : null;
      });
    },
    /**
     * Accepts open held money: see `core/held-money`. `held` is how it was before.
     * @param isDryRun nothing is saved; the outcome is what it would be
     */
    async accept(id: string, act: OperatorAct, isDryRun: boolean): Promise<AcceptHeldOutcome> {
      const decide = isDryRun ? db.read : db.write;
      return decide(async () => {
        const row = await held.find(id);
        if (!row) return { kind: 'not_found' };
        const session = await sessionOf(row);
        const view = await viewOf(row, session);
        if (row.state !== 'open') return { kind: 'not_open', held: view };
        if (!isDryRun) await held.settle(row, act.atMs);
        const { effect, life, standing } = await transitions.accept(session, row.kind, act.atMs, isDryRun);
        const [before, after] = [faceOf(session, session, session), faceOf(session, life, standing)];
        if (!isDryRun) {
          const what = { session: session.id, kind: row.kind, amount: amountText(openPar(row), row.currency) };
          await recordAct(act, {
            target: id,
            before: { ...what, state: 'open', status: before.status },
            after: { ...what, state: 'settled', status: after.status },
          });
        }
        return { kind: 'done', effect, held: view, before, after };
      });
    },
  };
}
