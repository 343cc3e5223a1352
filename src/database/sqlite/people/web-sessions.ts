/**
 * Where people are signed in.
 */

import { and, desc, eq, gt, ne, or } from 'drizzle-orm';
import type { OperatorAct } from '../../audit-log.ts';
import type { OpenSession, Person, SignIns, WebSession } from '../../people.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { webSessions } from '../tables.ts';

/** A session's use is saved at most this often. */
const SEEN_EVERY_MS = 60_000;

/** @param isNewest whether it was found by its present token: an earlier one lets nobody do more */
const toSession = (
  { previousHash: _, previousUntilMs: __, ...row }: typeof webSessions.$inferSelect,
  isNewest: boolean,
): OpenSession => ({ ...row, sudoUntilMs: isNewest ? row.sudoUntilMs : 0 });

/** Ends a person's sessions but the one whose forms have this token. To be used within a transaction. */
export function endOtherSessions({ orm }: Pick<Db, 'orm'>, personId: string, keepFormToken: string): void {
  const others = and(eq(webSessions.personId, personId), ne(webSessions.formToken, keepFormToken));
  orm.delete(webSessions).where(others).run();
}

type WebSessionCommands = Pick<SignIns, 'findWebSession' | 'listWebSessions' | 'endWebSessions'>;

export function webSessionCommands(
  db: Db,
  recordAct: RecordAct,
  personOf: (id: string) => Person | null,
): WebSessionCommands {
  const { orm } = db;
  const isAlive = (
    { startedAtMs, seenAtMs }: WebSession,
    nowMs: number,
    { idleMs, lifeMs }: { idleMs: number; lifeMs: number },
  ) => startedAtMs + lifeMs > nowMs && seenAtMs + idleMs > nowMs;
  return {
    async findWebSession(hash, nowMs, limits, isUse = true) {
      const found = db.read(() => {
        const before = and(eq(webSessions.previousHash, hash), gt(webSessions.previousUntilMs, nowMs));
        const row = orm
          .select()
          .from(webSessions)
          .where(or(eq(webSessions.hash, hash), before))
          .get();
        const session = row && toSession(row, row.hash === hash);
        const person = session && isAlive(session, nowMs, limits) ? personOf(session.personId) : null;
        return session && person ? { session, person } : null;
      });
      if (isUse && found && found.session.seenAtMs + SEEN_EVERY_MS <= nowMs) {
        await db.write(() =>
          orm.update(webSessions).set({ seenAtMs: nowMs }).where(eq(webSessions.hash, found.session.hash)).run(),
        );
      }
      return found;
    },
    async listWebSessions(personId, nowMs, limits) {
      return db.read(() =>
        orm
          .select()
          .from(webSessions)
          .where(eq(webSessions.personId, personId))
          .orderBy(desc(webSessions.startedAtMs))
          .all()
          .map((row) => toSession(row, true))
          .filter((session) => isAlive(session, nowMs, limits)),
      );
    },
    async endWebSessions(personId, which, act: OperatorAct) {
      return db.write(() => {
        const chosen = 'only' in which ? eq(webSessions.hash, which.only) : ne(webSessions.hash, which.allBut);
        const { changes } = orm
          .delete(webSessions)
          .where(and(eq(webSessions.personId, personId), chosen))
          .run();
        if (changes > 0) recordAct(act, { target: personId, before: { sessions: changes }, after: { sessions: 0 } });
        return changes;
      });
    },
  };
}
