/**
 * The part of the database port about mail to people and payers: written in the transaction of what it tells, sent by
 * the courier, and erased after a while.
 * @module
 */
import type { AccountNews } from '../core/person-mail.ts';
import type { OperatorAct } from './audit-log.ts';

/** A mail as it is sent. Whoever writes it has removed control characters from `subject` and `fromName`. */
export type NewMail = Readonly<{
  to: string;
  /** Null for the installation's own name. */
  fromName: string | null;
  replyTo: string | null;
  subject: string;
  text: string;
}>;

/** A mail to a person about their account. Its words are chosen when it is sent. */
export type AccountMail = Readonly<{ to: string; news: AccountNews }>;

export type DueMail = (NewMail | AccountMail) & Readonly<{ id: string; tries: number; createdAtMs: number }>;

/** What became of a mail that was sent. `again`: try again then. `failed`: never again. */
export type MailOutcome =
  | Readonly<{ kind: 'sent' }>
  | Readonly<{ kind: 'again'; atMs: number; error: string }>
  | Readonly<{ kind: 'failed'; error: string }>;

/** What came of a receipt. `too_many`: of the store in a day. `off`: the store sends none. */
export type ReceiptOutcome = 'queued' | 'already' | 'not_paid' | 'off' | 'too_many';

/** Of one store in 24 hours. */
export const RECEIPTS_PER_DAY_MAX = 2_000;
/** Codes to new addresses of one person in 24 hours. */
export const CODES_PER_DAY_MAX = 5;
/** How long what was sent is kept. */
export const MAILS_KEPT_DAYS = 30;

/** A person's proved address, and the one that waits for its code. */
export type PersonMail = Readonly<{ address: string | null; nextAddress: string | null }>;

export interface MailDatabase {
  /** Queues the receipt of a paid session, once; if the store sends receipts by mail. */
  queueReceipt(receipt: Readonly<{ sessionId: string; mail: NewMail; nowMs: number }>): Promise<ReceiptOutcome>;
  /** Whether the receipt of a session was queued. */
  hasReceipt(sessionId: string): Promise<boolean>;
  findPersonMail(personId: string): Promise<PersonMail>;
  /**
   * Queues the mail with the code that proves an address.
   * @param input `language`: the one that the person reads now
   * @returns false when there were too many in a day
   */
  askPersonMail(
    input: Readonly<{ personId: string; address: string; code: string; language: string }>,
    act: OperatorAct,
  ): Promise<boolean>;
  /**
   * Takes the new address if the code is right; whoever had the earlier one hears of it. After five wrong codes it must
   * be asked for again.
   * @returns null if no address waits
   */
  provePersonMail(personId: string, code: string, act: OperatorAct): Promise<'proved' | 'wrong' | 'too_many' | null>;
  /** Forgets a person's addresses. @returns false when there are none */
  removePersonMail(personId: string, act: OperatorAct): Promise<boolean>;
  /** Returns what is due, oldest first. */
  dueMails(nowMs: number, limit: number): Promise<readonly DueMail[]>;
  settleMail(id: string, outcome: MailOutcome, nowMs: number): Promise<void>;
  /** Erases mails that were made before; of receipts it stays known that there was one. @returns how many */
  eraseMails(beforeMs: number, limit: number): Promise<number>;
}
