/**
 * A message by e-mail, through the operator's own mail server.
 */
import { isIP } from 'node:net';
import type { MailServer } from '../lib/mail-server.ts';
import type { Answer } from './post.ts';

const TIMEOUT_MS = 20_000;

type Mail = Readonly<{
  from: string;
  to: string;
  subject: string;
  text: string;
  messageId: string;
}>;

/**
 * Sends one plain text. Nothing in it is read from a file or fetched, and addresses are passed as objects, so that no
 * text can add a header or a recipient.
 */
export async function sendMail({ host, port, security, user, password }: MailServer, mail: Mail): Promise<Answer> {
  // Only here: it is large, and most installations have no such target.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user !== null && { auth: { user, pass: password ?? '' } }),
    tls: { minVersion: 'TLSv1.2', ...(isIP(host) === 0 && { servername: host }) },
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { from, to, subject, text, messageId } = mail;
    const sent = await transport.sendMail({
      from: { name: 'Quayside', address: from },
      to: { name: '', address: to },
      subject,
      text,
      messageId,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    return { ok: true, status: Number.parseInt(sent.response, 10) || 250, text: sent.response, retryAfterMs: null };
  } catch (error) {
    const status = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : null;
    return { ok: false, status, text: error instanceof Error ? error.message : String(error), retryAfterMs: null };
  } finally {
    transport.close();
  }
}
