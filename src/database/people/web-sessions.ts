/**
 * Where people are signed in.
 */

import { and, desc, eq, gt, ne, or } from 'drizzle-orm';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { webSessions } from '../tables.ts';
import type { OpenSession, Person, WebSession, WebSessionLimits } from './person.ts';

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

export function webSessionCommands(db: Db, recordAct: RecordAct, personOf: (id: string) => Person | null) {
  const { orm } = db;
  const isAlive = (
    { startedAtMs, seenAtMs }: WebSession,
    nowMs: number,
    { idleMs, lifeMs }: { idleMs: number; lifeMs: number },
  ) => startedAtMs + lifeMs > nowMs && seenAtMs + idleMs > nowMs;
  return {
    /**
     * Returns who a session belongs to, while it lasts, and notes its use at most once a minute.
     * @param isUse whether somebody uses it (true), or a page asks by itself
     */
    async findWebSession(
      hash: string,
      nowMs: number,
      limits: WebSessionLimits,
      isUse: boolean = true,
    ): Promise<Readonly<{ person: Person; session: OpenSession }> | null> {
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
    /** Returns a person's sessions that have not ended, the newest first. */
    async listWebSessions(personId: string, nowMs: number, limits: WebSessionLimits): Promise<readonly WebSession[]> {
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
    /** Ends one session of a person, or all but one. @returns how many */
    async endWebSessions(
      personId: string,
      which: Readonly<{ only: string }> | Readonly<{ allBut: string }>,
      act: OperatorAct,
    ): Promise<number> {
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
