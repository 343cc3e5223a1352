/** Mail to payers: receipts that wait to be sent, or were sent. A payment has one, so its key is the session's id. */
import { eq } from 'drizzle-orm';
import { DAY_MS } from '../lib/clock.ts';
import type { Db } from './engine/open.ts';
import type { Jobs } from './jobs.ts';
import { sessions, stores } from './tables.ts';
import type { Vault } from './vault.ts';

/** A mail as it is sent. Its writer removes control characters from `subject` and `fromName`. */
export type NewMail = Readonly<{
  to: string;
  fromName: string;
  replyTo: string | null;
  subject: string;
  text: string;
}>;

export type DueMail = NewMail & Readonly<{ id: string; tries: number; createdAtMs: number }>;

/** The outcome of a mail. `again`: it is tried again at that time. `failed`: it is never tried again. */
export type MailOutcome =
  | Readonly<{ kind: 'sent' }>
  | Readonly<{ kind: 'again'; atMs: number; error: string }>
  | Readonly<{ kind: 'failed'; error: string }>;

/** The outcome of asking for a receipt. `too_many`: of the store in a day. `off`: the store sends none. */
export type ReceiptOutcome = 'queued' | 'already' | 'not_paid' | 'off' | 'too_many';

/** Of one store in 24 hours. */
export const RECEIPTS_PER_DAY_MAX = 2_000;
/** Days after which a mail is erased. */
export const MAILS_KEPT_DAYS = 30;

export const MAIL_QUEUE = 'mail';
/** A mail server answers within its time limit, so each of a batch has its turn long before. */
const LEASE_MS = 15 * 60_000;

/** The name under which a mail is sealed. */
export const mailName = (id: string): string => `mail ${id}`;

export function mailCommands({ orm, read, write }: Db, vault: Vault, jobs: Jobs) {
  return {
    /** Leases what is due, longest waiting first. */
    async claim(nowMs: number, limit: number): Promise<readonly DueMail[]> {
      const claimed = await jobs.claim(MAIL_QUEUE, { nowMs, leaseMs: LEASE_MS, limit });
      return claimed.flatMap(({ key: id, payload, tries, createdAtMs }): DueMail[] => {
        if (payload === null) return [];
        return [{ id, tries, createdAtMs, ...(JSON.parse(vault.open(payload, mailName(id))) as NewMail) }];
      });
    },
    async settle(id: string, outcome: MailOutcome): Promise<void> {
      await write(async () => {
        const job = await jobs.find(id);
        if (job === null || job.payload === null) return;
        if (outcome.kind === 'again') await jobs.settle({ ...job, dueAtMs: outcome.atMs, tries: job.tries + 1 });
        else await jobs.settle({ ...job, dueAtMs: null });
      });
    },
    /** Erases mails that were made before; it stays known that there was one. @returns how many */
    async erase(beforeMs: number, limit: number): Promise<number> {
      if ((await read(() => jobs.addedBefore(MAIL_QUEUE, beforeMs, 1))).length === 0) return 0;
      return write(async () => {
        const old = await jobs.addedBefore(MAIL_QUEUE, beforeMs, limit);
        await jobs.erase(old);
        return old.length;
      });
    },
    /** Queues the receipt of a paid session, once; if the store sends receipts by mail. */
    async queueReceipt({
      sessionId,
      mail,
      nowMs,
    }: Readonly<{ sessionId: string; mail: NewMail; nowMs: number }>): Promise<ReceiptOutcome> {
      return write(async () => {
        const session = await orm
          .select({ storeId: sessions.storeId, status: sessions.status, page: stores.page })
          .from(sessions)
          .innerJoin(stores, eq(stores.id, sessions.storeId))
          .where(eq(sessions.id, sessionId))
          .get();
        if (session?.status !== 'paid') return 'not_paid';
        const { storeId, page } = session;
        const replyTo = page.receiptsReplyTo;
        if (!replyTo) return 'off';
        if (await jobs.find(sessionId)) return 'already';
        if ((await jobs.countSince(storeId, nowMs - DAY_MS)) >= RECEIPTS_PER_DAY_MAX) return 'too_many';
        const payload = vault.seal(JSON.stringify({ ...mail, replyTo }), mailName(sessionId));
        await jobs.put({ key: sessionId, queue: MAIL_QUEUE, owner: storeId, payload }, nowMs);
        return 'queued';
      });
    },
    /** Returns whether the receipt of a session was queued. */
    async hasReceipt(sessionId: string): Promise<boolean> {
      return (await read(() => jobs.find(sessionId))) !== null;
    },
  };
}
