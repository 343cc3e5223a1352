/** Messages by e-mail, through the operator's mail server. */
import { isLoopback } from '../lib/address-range.ts';
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
 * The mail server, and the sender's address. `url` is `smtps://user:password@host:465` (TLS), or
 * `smtp://user:password@host:587` (STARTTLS, which only a server on this machine may lack).
 */
export type MailSettings = Readonly<{ url: string; from: string }>;

/**
 * Sends one plain text. No part of it is read from a file or fetched. Addresses are passed as objects, so that no text
 * can add a header or a recipient.
 */
export async function sendMail(url: string, mail: Mail): Promise<Answer> {
  // The library is loaded only here, because it is large, and most installations have no such target.
  const { createTransport } = await import('nodemailer');
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const isLocal = host === 'localhost' || isLoopback(host);
  const transport = createTransport({
    url,
    requireTLS: !isLocal,
    ignoreTLS: isLocal,
    tls: { minVersion: 'TLSv1.2' },
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
