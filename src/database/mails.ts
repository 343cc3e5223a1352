/** The part of the database port about mail to payers: receipts, sent by the server, and erased after a while. */

/** A mail as it is sent. Whoever writes it has removed control characters from `subject` and `fromName`. */
export type NewMail = Readonly<{
  to: string;
  fromName: string;
  replyTo: string | null;
  subject: string;
  text: string;
}>;

export type DueMail = NewMail & Readonly<{ id: string; tries: number; createdAtMs: number }>;

/** What became of a mail that was sent. `again`: try again then. `failed`: never again. */
export type MailOutcome =
  | Readonly<{ kind: 'sent' }>
  | Readonly<{ kind: 'again'; atMs: number; error: string }>
  | Readonly<{ kind: 'failed'; error: string }>;

/** What came of a receipt. `too_many`: of the store in a day. `off`: the store sends none. */
export type ReceiptOutcome = 'queued' | 'already' | 'not_paid' | 'off' | 'too_many';

/** Of one store in 24 hours. */
export const RECEIPTS_PER_DAY_MAX = 2_000;
/** How long what was sent is kept. */
export const MAILS_KEPT_DAYS = 30;

export interface Mails {
  /** Queues the receipt of a paid session, once; if the store sends receipts by mail. */
  queueReceipt(receipt: Readonly<{ sessionId: string; mail: NewMail; nowMs: number }>): Promise<ReceiptOutcome>;
  /** Whether the receipt of a session was queued. */
  hasReceipt(sessionId: string): Promise<boolean>;
  /** Leases what is due, longest waiting first. */
  claim(nowMs: number, limit: number): Promise<readonly DueMail[]>;
  settle(id: string, outcome: MailOutcome): Promise<void>;
  /** Erases mails that were made before; it stays known that there was one. @returns how many */
  erase(beforeMs: number, limit: number): Promise<number>;
}
