/** Mail to payers: receipts that wait to be sent, or were sent. A payment has one, so its key is the session's id. */
import { eq } from 'drizzle-orm';
import { DAY_MS } from '../../lib/clock.ts';
import { type DueMail, type Mails, type NewMail, RECEIPTS_PER_DAY_MAX } from '../mails.ts';
import type { Jobs } from './jobs.ts';
import type { Db } from './open.ts';
import { pageSettings, sessions } from './tables.ts';
import type { Vault } from './vault.ts';

const KIND = 'mail';
/** A mail server answers within its time limit, so each of a batch has its turn long before. */
const LEASE_MS = 15 * 60_000;

/** The name under which a mail is sealed. */
export const mailName = (id: string): string => `mail ${id}`;

export function mailCommands({ orm, read, write }: Db, vault: Vault, jobs: Jobs): Mails {
  return {
    async claim(nowMs, limit) {
      const claimed = await jobs.claim(KIND, { nowMs, leaseMs: LEASE_MS, limit });
      return claimed.flatMap(({ key: id, payload, tries, createdAtMs }): DueMail[] => {
        if (payload === null) return [];
        return [{ id, tries, createdAtMs, ...(JSON.parse(vault.open(payload, mailName(id))) as NewMail) }];
      });
    },
    async settle(id, outcome) {
      await write(() => {
        const job = jobs.find(KIND, id);
        if (job === null || job.payload === null) return;
        const error = outcome.kind === 'sent' ? null : outcome.error;
        if (outcome.kind === 'again') jobs.settle({ ...job, dueAtMs: outcome.atMs, tries: job.tries + 1, error });
        else jobs.settle({ ...job, dueAtMs: null, error });
      });
    },
    async erase(beforeMs, limit) {
      if (read(() => jobs.addedBefore(KIND, beforeMs, 1)).length === 0) return 0;
      return write(() => {
        const old = jobs.addedBefore(KIND, beforeMs, limit);
        jobs.erase(old);
        return old.length;
      });
    },
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
        if (jobs.find(KIND, sessionId)) return 'already';
        if (jobs.countSince(KIND, storeId, nowMs - DAY_MS) >= RECEIPTS_PER_DAY_MAX) return 'too_many';
        const payload = vault.seal(JSON.stringify({ ...mail, replyTo: page.replyTo }), mailName(sessionId));
        jobs.put({ kind: KIND, key: sessionId, queue: KIND, owner: storeId, payload }, nowMs);
        return 'queued';
      });
    },
    async hasReceipt(sessionId) {
      return read(() => jobs.find(KIND, sessionId)) !== null;
    },
  };
}
