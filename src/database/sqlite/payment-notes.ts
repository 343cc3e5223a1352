/**
 * Notes about payments. They go with what identifies the payer.
 * @module
 */
import { and, asc, count, eq } from 'drizzle-orm';
import { PAYMENT_NOTES_MAX, type PaymentNoteDatabase } from '../payment-notes.ts';
import type { RecordAct } from './audit-log.ts';
import type { Db } from './open.ts';
import { createPayerDataMark } from './retention/marks.ts';
import type { FindSessionRow } from './sessions.ts';
import { paymentNotes } from './tables.ts';

export function paymentNoteCommands(db: Db, findSession: FindSessionRow, recordAct: RecordAct): PaymentNoteDatabase {
  const { orm } = db;
  const lookAgain = createPayerDataMark(db);
  const ofSession = (sessionId: string) => eq(paymentNotes.sessionId, sessionId);
  return {
    async addPaymentNote({ sessionId, text: written }, act) {
      return db.write(() => {
        if (!findSession(sessionId)) return null;
        const found = orm.select({ notes: count() }).from(paymentNotes).where(ofSession(sessionId)).get();
        if ((found?.notes ?? 0) >= PAYMENT_NOTES_MAX) return 'full';
        const note = { sessionId, atMs: act.atMs, author: act.operator, text: written };
        const id = Number(orm.insert(paymentNotes).values(note).run().lastInsertRowid);
        // What identifies the payer may have been removed already: the note is removed with the next of it.
        lookAgain(sessionId);
        recordAct(act, { target: sessionId, before: null, after: { note: id } });
        return 'added';
      });
    },
    async listPaymentNotes(sessionId) {
      return db.read(() =>
        orm
          .select()
          .from(paymentNotes)
          .where(ofSession(sessionId))
          .orderBy(asc(paymentNotes.id))
          .limit(PAYMENT_NOTES_MAX)
          .all()
          .map(({ sessionId: _, ...note }) => note),
      );
    },
    async removePaymentNote({ sessionId, id }, act) {
      return db.write(() => {
        const { changes } = orm
          .delete(paymentNotes)
          .where(and(ofSession(sessionId), eq(paymentNotes.id, id)))
          .run();
        if (changes === 0) return false;
        recordAct(act, { target: sessionId, before: { note: id }, after: null });
        return true;
      });
    },
  };
}
