/**
 * Mail to payers: receipts that wait to be sent, or were sent.
 * @module
 */
import { and, asc, count, eq, gt, inArray, isNotNull, lt, lte, sql } from 'drizzle-orm';
import { DAY_MS } from '../../lib/clock.ts';
import { sortableId } from '../../lib/id.ts';
import { type MailDatabase, type NewMail, RECEIPTS_PER_DAY_MAX } from '../mails.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import { mails, pageSettings, sessions } from './tables.ts';
import type { Vault } from './vault.ts';

/** The name under which a mail is sealed. */
export const mailName = (id: string): string => `mail ${id}`;

export const mailCommands = (db: Db, vault: Vault): MailDatabase => ({
  ...outboxCommands(db, vault),
  ...receiptCommands(db, vault),
});

type OutboxCommands = Pick<MailDatabase, 'dueMails' | 'settleMail' | 'eraseMails'>;

function outboxCommands({ orm, read, write }: Db, vault: Vault): OutboxCommands {
  const due = atFirstUse(
    orm
      .select()
      .from(mails)
      .where(lte(mails.dueAtMs, sql.placeholder('nowMs')))
      .orderBy(asc(mails.dueAtMs), asc(mails.id))
      .limit(sql.placeholder('limit')),
  );
  return {
    async dueMails(nowMs, limit) {
      return read(() =>
        due.all({ nowMs, limit }).flatMap(({ id, message, tries, createdAtMs }) => {
          if (message === null) return [];
          return [{ id, tries, createdAtMs, ...(JSON.parse(vault.open(message, mailName(id))) as NewMail) }];
        }),
      );
    },
    async settleMail(id, outcome, nowMs) {
      const values = {
        sent: () => ({ dueAtMs: null, sentAtMs: nowMs, error: null }),
        again: () => ({ dueAtMs: 'atMs' in outcome ? outcome.atMs : null, tries: sql`${mails.tries} + 1` }),
        failed: () => ({ dueAtMs: null }),
      }[outcome.kind]();
      const error = 'error' in outcome ? outcome.error : null;
      await write(() =>
        orm
          .update(mails)
          .set({ ...values, error })
          .where(eq(mails.id, id))
          .run(),
      );
    },
    async eraseMails(beforeMs, limit) {
      const isOld = and(lt(mails.createdAtMs, beforeMs), isNotNull(mails.message));
      const old = read(() =>
        orm.select({ id: mails.id }).from(mails).where(isOld).orderBy(asc(mails.createdAtMs)).limit(limit).all(),
      );
      if (old.length === 0) return 0;
      return write(() => {
        const ids = old.map(({ id }) => id);
        orm.update(mails).set({ message: null, dueAtMs: null }).where(inArray(mails.id, ids)).run();
        return old.length;
      });
    },
  };
}

type ReceiptCommands = Pick<MailDatabase, 'queueReceipt' | 'hasReceipt'>;

function receiptCommands({ orm, read, write }: Db, vault: Vault): ReceiptCommands {
  const has = (sessionId: string) =>
    orm.select({ id: mails.id }).from(mails).where(eq(mails.sessionId, sessionId)).get() !== undefined;
  return {
    async queueReceipt({ sessionId, mail, nowMs }) {
      return write(() => {
        const session = orm
          .select({ storeId: sessions.storeId, status: sessions.status })
          .from(sessions)
          .where(eq(sessions.id, sessionId))
          .get();
        if (session?.status !== 'paid') return 'not_paid';
        const { storeId } = session;
        const page = orm
          .select({ replyTo: pageSettings.receiptsReplyTo })
          .from(pageSettings)
          .where(eq(pageSettings.storeId, storeId))
          .get();
        if (!page?.replyTo) return 'off';
        if (has(sessionId)) return 'already';
        const isRecent = and(eq(mails.storeId, storeId), gt(mails.createdAtMs, nowMs - DAY_MS));
        const sent = orm.select({ of: count() }).from(mails).where(isRecent).get();
        if ((sent?.of ?? 0) >= RECEIPTS_PER_DAY_MAX) return 'too_many';
        const id = `ml_${sortableId(nowMs)}`;
        const message = vault.seal(JSON.stringify({ ...mail, replyTo: page.replyTo }), mailName(id));
        const fresh = { createdAtMs: nowMs, dueAtMs: nowMs, tries: 0, sentAtMs: null, error: null };
        orm
          .insert(mails)
          .values({ id, sessionId, storeId, message, ...fresh })
          .run();
        return 'queued';
      });
    },
    async hasReceipt(sessionId) {
      return read(() => has(sessionId));
    },
  };
}
