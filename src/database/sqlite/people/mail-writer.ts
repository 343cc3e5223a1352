/**
 * Writes mails in the transaction of what they tell.
 * @module
 */
import { and, eq, isNull } from 'drizzle-orm';
import type { AccountEvent } from '../../../core/person-mail.ts';
import { sortableId } from '../../../lib/id.ts';
import type { AccountMail, NewMail } from '../../mails.ts';
import type { Db } from '../open.ts';
import type { Vault } from '../vault.ts';
import { mails, memberships, people } from './schema.ts';

/** The names under which mails and addresses are sealed. */
export const mailName = (id: string): string => `mail ${id}`;
export const personMailName = (personId: string): string => `mail address of ${personId}`;
export const mailCodeName = (personId: string): string => `code of the mail address of ${personId}`;

/** Whom a mail is about. */
export type MailAbout =
  | Readonly<{ kind: 'receipt'; sessionId: string; storeId: string }>
  | Readonly<{ kind: 'code' | 'account'; personId: string }>;

/** To be called within a transaction. */
export type MailWriter = Readonly<{
  queue(mail: NewMail | AccountMail, about: MailAbout, nowMs: number): void;
  /** Tells a person, if they have an address that was proved. */
  tell(personId: string, event: AccountEvent, nowMs: number): void;
  /** Tells the owners of a store, or whoever runs the installation (null), if they have such an address. */
  tellOwners(storeId: string | null, event: AccountEvent, nowMs: number): void;
}>;

export function createMailWriter({ orm }: Pick<Db, 'orm'>, vault: Vault): MailWriter {
  const nobody = { sessionId: null, storeId: null, personId: null };
  const queue: MailWriter['queue'] = (mail, about, createdAtMs) => {
    const id = `ml_${sortableId(createdAtMs)}`;
    const message = vault.seal(JSON.stringify(mail), mailName(id));
    const fresh = { createdAtMs, dueAtMs: createdAtMs, tries: 0, sentAtMs: null, error: null };
    orm
      .insert(mails)
      .values({ id, ...nobody, ...about, message, ...fresh })
      .run();
  };
  const tell: MailWriter['tell'] = (personId, event, nowMs) => {
    const row = orm
      .select({ name: people.name, mail: people.mail, language: people.language, zone: people.zone })
      .from(people)
      .where(eq(people.id, personId))
      .get();
    if (!row?.mail) return;
    const { name, language, zone } = row;
    const to = vault.open(row.mail, personMailName(personId));
    queue({ to, news: { name, language, zone, event, atMs: nowMs } }, { kind: 'account', personId }, nowMs);
  };
  return {
    queue,
    tell,
    tellOwners(storeId, event, nowMs) {
      const isOwner =
        storeId === null
          ? isNull(memberships.storeId)
          : and(eq(memberships.storeId, storeId), eq(memberships.role, 'owner'));
      for (const { personId } of orm.select().from(memberships).where(isOwner).all()) tell(personId, event, nowMs);
    },
  };
}
