/** Notes about payments. They go with what identifies the payer. */

import { eq } from 'drizzle-orm';
import type { Sessions } from '../database.ts';
import { PAYMENT_NOTES_MAX, type PaymentNote } from '../payment-notes.ts';
import type { RecordAct } from './audit-log.ts';
import type { Db } from './open.ts';
import { createPayerDataMark } from './retention/marks.ts';
import type { FindSessionRow } from './sessions.ts';
import { sessions } from './tables.ts';

export function paymentNoteCommands(
  db: Db,
  findSession: FindSessionRow,
  recordAct: RecordAct,
): Pick<Sessions, 'addNote' | 'listNotes' | 'removeNote'> {
  const lookAgain = createPayerDataMark(db);
  const save = (sessionId: string, notes: readonly PaymentNote[]): void =>
    void db.orm
      .update(sessions)
      .set({ notes: notes.length === 0 ? null : notes })
      .where(eq(sessions.id, sessionId))
      .run();
  return {
    async addNote({ sessionId, text: written }, act) {
      return db.write(() => {
        const session = findSession(sessionId);
        if (!session) return null;
        const notes = session.notes ?? [];
        if (notes.length >= PAYMENT_NOTES_MAX) return 'full';
        // No id comes twice: a page that is still open may remove the note that it shows.
        const id = Math.max(act.atMs, (notes.at(-1)?.id ?? 0) + 1);
        save(sessionId, [...notes, { id, atMs: act.atMs, author: act.operator, text: written }]);
        // What identifies the payer may have been removed already: the note is removed with the next of it.
        lookAgain(sessionId);
        recordAct(act, { target: sessionId, before: null, after: { note: id } });
        return 'added';
      });
    },
    async listNotes(sessionId) {
      return db.read(() => findSession(sessionId)?.notes ?? []);
    },
    async removeNote({ sessionId, id }, act) {
      return db.write(() => {
        const notes = findSession(sessionId)?.notes ?? [];
        const left = notes.filter((note) => note.id !== id);
        if (left.length === notes.length) return false;
        save(sessionId, left);
        recordAct(act, { target: sessionId, before: { note: id }, after: null });
        return true;
      });
    },
  };
}
