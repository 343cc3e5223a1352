/**
 * Operators' decisions about held money.
 */
import { and, desc, eq } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { openPar } from '../../core/held-money.ts';
import type { Life, Standing } from '../../core/session.ts';
import type { Held, HeldMoney, HeldSession } from '../held-money.ts';
import type { RecordAct } from './audit-log.ts';
import { amountText, type HeldRecords, type HeldRow } from './held-records.ts';
import type { Db } from './open.ts';
import type { ReturnedMoney } from './refunds/returned.ts';
import type { SessionRow } from './session-row.ts';
import type { SessionTransitions } from './session-transitions.ts';
import type { FindSessionRow } from './sessions.ts';
import { heldMoney as records, sessions } from './tables.ts';

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
): Omit<Held, 'giveBack'> {
  const { held, transitions, findSession, recordAct, returned } = parts;
  const viewOf = (
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
      returns: returned.list(row.sessionId).filter(({ kind }) => kind === row.kind),
    }) satisfies HeldMoney;

  const faceOf = (
    { terms }: SessionRow,
    life: Pick<Life, 'status' | 'paidLate'>,
    { confirmedPar }: Pick<Standing, 'confirmedPar'>,
  ): HeldSession => ({ status: life.status, paidLate: life.paidLate, duePar: terms.duePar, confirmedPar });

  function sessionOf(row: HeldRow): SessionRow {
    const session = findSession(row.sessionId);
    invariant(session, `session ${row.sessionId} of held money exists`);
    return session;
  }

  return {
    async list({ storeId, mode, sessionId, state, limit }) {
      const { storeId: store, mode: ofMode } = sessions;
      const of = and(
        storeId === undefined ? undefined : eq(store, storeId),
        mode === undefined ? undefined : eq(ofMode, mode),
        sessionId === undefined ? undefined : eq(records.sessionId, sessionId),
        state === undefined ? undefined : eq(records.state, state),
      );
      const rows = db.read(() =>
        db.orm
          .select({ held: records, session: sessionColumns })
          .from(records)
          .innerJoin(sessions, eq(sessions.id, records.sessionId))
          .where(of)
          .orderBy(desc(records.openedAtMs), desc(records.id))
          .limit(limit)
          .all()
          .map(({ held: row, session }) => viewOf(row, session)),
      );
      return rows;
    },
    async find(id) {
      return db.read(() => {
        const row = held.find(id);
        return row ? viewOf(row, sessionOf(row)) : null;
      });
    },
    async accept(id, act, isDryRun) {
      const decide = isDryRun ? db.read : db.write;
      return decide(() => {
        const row = held.find(id);
        if (!row) return { kind: 'not_found' };
        const session = sessionOf(row);
        const view = viewOf(row, session);
        if (row.state !== 'open') return { kind: 'not_open', held: view };
        if (!isDryRun) held.settle(row, act.atMs);
        const { effect, life, standing } = transitions.accept(session, row.kind, act.atMs, isDryRun);
        const [before, after] = [faceOf(session, session, session), faceOf(session, life, standing)];
        if (!isDryRun) {
          const what = { session: session.id, kind: row.kind, amount: amountText(openPar(row), row.currency) };
          recordAct(act, {
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
