/**
 * Mail to people and payers: what waits to be sent, people's addresses, receipts.
 * @module
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { and, asc, count, eq, gt, inArray, isNotNull, isNull, lt, lte, or, sql } from 'drizzle-orm';
import { DAY_MS } from '../../../lib/clock.ts';
import {
  type AccountMail,
  CODES_PER_DAY_MAX,
  type MailDatabase,
  type NewMail,
  RECEIPTS_PER_DAY_MAX,
} from '../../mails.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { pageSettings, sessions } from '../schema.ts';
import type { Vault } from '../vault.ts';
import { type MailWriter, mailCodeName, mailName, personMailName } from './mail-writer.ts';
import { mails, people } from './schema.ts';

const WRONG_CODES_MAX = 5;

const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

const noNext = { nextMail: null, mailCode: null, wrongMailCodes: 0 } as const;

type MailParts = Readonly<{ vault: Vault; writer: MailWriter; recordAct: RecordAct }>;

export function mailCommands(db: Db, parts: MailParts): MailDatabase {
  return { ...outboxCommands(db, parts), ...personMailCommands(db, parts), ...receiptCommands(db, parts) };
}

type OutboxCommands = Pick<MailDatabase, 'dueMails' | 'settleMail' | 'eraseMails'>;

function outboxCommands({ orm, read, write }: Db, { vault }: MailParts): OutboxCommands {
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
          return [
            { id, tries, createdAtMs, ...(JSON.parse(vault.open(message, mailName(id))) as NewMail | AccountMail) },
          ];
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
      const isKept = or(isNotNull(mails.message), isNull(mails.sessionId));
      const old = read(() =>
        orm
          .select({ id: mails.id, sessionId: mails.sessionId })
          .from(mails)
          .where(and(lt(mails.createdAtMs, beforeMs), isKept))
          .orderBy(asc(mails.createdAtMs))
          .limit(limit)
          .all(),
      );
      if (old.length === 0) return 0;
      return write(() => {
        const ids = (ofReceipts: boolean) =>
          old.flatMap((one) => ((one.sessionId !== null) === ofReceipts ? one.id : []));
        orm
          .delete(mails)
          .where(inArray(mails.id, ids(false)))
          .run();
        orm
          .update(mails)
          .set({ message: null, dueAtMs: null })
          .where(inArray(mails.id, ids(true)))
          .run();
        return old.length;
      });
    },
  };
}

type PersonMailCommands = Pick<
  MailDatabase,
  'findPersonMail' | 'askPersonMail' | 'provePersonMail' | 'removePersonMail'
>;

function personMailCommands({ orm, read, write }: Db, { vault, writer, recordAct }: MailParts): PersonMailCommands {
  const rowOf = (id: string) =>
    orm
      .select()
      .from(people)
      .where(and(eq(people.id, id), isNull(people.removedAtMs)))
      .get();
  const set = (id: string, values: Partial<typeof people.$inferInsert>) =>
    orm.update(people).set(values).where(eq(people.id, id)).run();
  return {
    async findPersonMail(personId) {
      const row = read(() => rowOf(personId));
      const open = (sealed: string | null | undefined) =>
        sealed ? vault.open(sealed, personMailName(personId)) : null;
      return { address: open(row?.mail), nextAddress: open(row?.nextMail) };
    },
    async askPersonMail({ personId, address, code, language }, act) {
      return write(() => {
        const isRecent = and(eq(mails.personId, personId), gt(mails.createdAtMs, act.atMs - DAY_MS));
        const asked = orm
          .select({ of: count() })
          .from(mails)
          .where(and(isRecent, eq(mails.kind, 'code')))
          .get();
        const row = rowOf(personId);
        if ((asked?.of ?? 0) >= CODES_PER_DAY_MAX || !row) return false;
        const nextMail = vault.seal(address, personMailName(personId));
        set(personId, { nextMail, mailCode: vault.seal(code, mailCodeName(personId)), wrongMailCodes: 0 });
        const { name, zone } = row;
        const news = { name, language, zone, event: { kind: 'code', code }, atMs: act.atMs } as const;
        writer.queue({ to: address, news }, { kind: 'code', personId }, act.atMs);
        recordAct(act, { target: personId, before: null, after: { mail: 'code sent' } });
        return true;
      });
    },
    async provePersonMail(personId, code, act) {
      return write(() => {
        const row = rowOf(personId);
        if (!row?.nextMail || !row.mailCode) return null;
        if (row.wrongMailCodes >= WRONG_CODES_MAX) return 'too_many';
        if (!isSame(code, vault.open(row.mailCode, mailCodeName(personId)))) {
          set(personId, { wrongMailCodes: row.wrongMailCodes + 1 });
          return 'wrong';
        }
        // Goes to the earlier address.
        writer.tell(personId, { kind: 'mail_changed' }, act.atMs);
        set(personId, { mail: row.nextMail, ...noNext });
        recordAct(act, { target: personId, before: { mail: row.mail ? 'set' : null }, after: { mail: 'proved' } });
        return 'proved';
      });
    },
    async removePersonMail(personId, act) {
      return write(() => {
        const row = rowOf(personId);
        if (!row?.mail && !row?.nextMail) return false;
        writer.tell(personId, { kind: 'mail_removed' }, act.atMs);
        set(personId, { mail: null, ...noNext });
        recordAct(act, { target: personId, before: { mail: row.mail ? 'set' : 'code sent' }, after: { mail: null } });
        return true;
      });
    },
  };
}

type ReceiptCommands = Pick<MailDatabase, 'queueReceipt' | 'hasReceipt'>;

function receiptCommands({ orm, read, write }: Db, { writer }: MailParts): ReceiptCommands {
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
        writer.queue({ ...mail, replyTo: page.replyTo }, { kind: 'receipt', sessionId, storeId }, nowMs);
        return 'queued';
      });
    },
    async hasReceipt(sessionId) {
      return read(() => has(sessionId));
    },
  };
}
