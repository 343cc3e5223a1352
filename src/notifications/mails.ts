/**
 * Sends receipts to payers through the installation's mail server. A mail that was sent and not recorded,
 * because the program ended in between, is sent again with the same Message-ID.
 */
import { excerpt } from '../core/excerpt.ts';
import { transient } from '../core/fault.ts';
import { noticeRetryMs } from '../core/notice.ts';
import type { Mails } from '../database/database.ts';
import { type DueMail, MAILS_KEPT_DAYS, type MailOutcome } from '../database/mails.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import type { MailSettings } from '../lib/mail-server.ts';
import { NO_MAIL } from './channels.ts';
import { sendMail } from './email.ts';
import type { Answer } from './post.ts';

const LOOK_MS = 2_000;
/** One after the other, so that the server is not flooded. */
const BATCH = 20;
/** Tries of one mail: a day. */
const TRIES_MAX = 31;
const ERASED_AT_ONCE = 500;
/** From here on SMTP says that trying again changes nothing (RFC 5321, 4.2.1). */
const PERMANENT_STATUS = 500;
/** A wrong password or a server that wants one is mended in the settings, and not by the recipient. */
const AUTH_STATUSES: readonly number[] = [530, 534, 535, 538];

type MailOptions = Readonly<{
  mails: Mails;
  mail: MailSettings | null;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}>;

/** Sends what is due now, and erases what is old. @throws Fault transient when it is to stop */
export async function sendDueMails(options: MailOptions): Promise<Round> {
  const { mails, mail, clock, log, signal } = options;
  const due = await mails.claim(clock.nowMs(), BATCH);
  for (const one of due) {
    const outcome = mail
      ? outcomeOf(await unlessStopped(signal, sendOne(mail, one)), one, clock.nowMs())
      : ({ kind: 'failed', error: NO_MAIL } as const);
    if (outcome.kind === 'sent') log.info({ mail: one.id }, 'mail sent');
    else log.warn({ mail: one.id, answer: outcome.error }, 'mail not sent');
    await mails.settle(one.id, outcome);
  }
  const erased = await mails.erase(clock.nowMs() - MAILS_KEPT_DAYS * DAY_MS, ERASED_AT_ONCE);
  return due.length >= BATCH || erased >= ERASED_AT_ONCE ? 'again' : undefined;
}

/** Ends the wait for a server at a stop: what was not recorded is sent again. */
async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(transient('stopped', 'the program is stopping'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function sendOne({ server, from }: MailSettings, one: DueMail): Promise<Answer> {
  const { id, to, fromName, replyTo, subject, text } = one;
  const answer = await sendMail(server, {
    from,
    fromName,
    to,
    replyTo,
    subject,
    text,
    messageId: `<${id}@${from.split('@')[1]}>`,
  });
  // Servers repeat the recipient, and some the password.
  const secrets = [to, server.password ?? ''].filter((secret) => secret !== '');
  return { ...answer, text: excerpt(secrets.reduce((left, secret) => left.replaceAll(secret, '…'), answer.text)) };
}

function outcomeOf({ ok, status, text }: Answer, { tries }: DueMail, nowMs: number): MailOutcome {
  if (ok) return { kind: 'sent' };
  const error = `${status ?? 'no answer'}: ${text}`;
  const isPermanent = status !== null && status >= PERMANENT_STATUS && !AUTH_STATUSES.includes(status);
  if (isPermanent || tries + 1 >= TRIES_MAX) return { kind: 'failed', error };
  return { kind: 'again', atMs: nowMs + noticeRetryMs(tries + 1), error };
}

/** Sends mails until the signal. */
export function runMails(options: MailOptions): Promise<void> {
  const { clock, log, signal } = options;
  return every(LOOK_MS, () => sendDueMails(options), { clock, log, signal, what: 'sending mails' });
}
