/**
 * Mail servers by their URL: `smtps://user:password@host:465` (TLS), or `smtp://user:password@host:587` (STARTTLS,
 * which a server must offer; without TLS only to this machine).
 */

/** `tls`: from the first byte; `starttls`: after it; `none`: only to this machine. */
export type MailServer = Readonly<{
  host: string;
  port: number;
  security: 'tls' | 'starttls' | 'none';
  user: string | null;
  password: string | null;
}>;

/** The server that mail to people and payers goes through, and what it comes from. */
export type MailSettings = Readonly<{ server: MailServer; from: string }>;

/** The ports of each scheme. */
const ports = { 'smtps:': 465, 'smtp:': 587 } as const;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns the server that a URL names; null if it names none. */
export function readMailServer(text: string): MailServer | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== 'smtps:' && url.protocol !== 'smtp:') || url.hostname === '') return null;
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') return null;
  const isLocal = LOOPBACK.test(url.hostname);
  const security = url.protocol === 'smtps:' ? 'tls' : isLocal ? 'none' : 'starttls';
  try {
    const user = url.username === '' ? null : decodeURIComponent(url.username);
    const password = user === null ? null : decodeURIComponent(url.password);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    return { host, port: Number(url.port) || ports[url.protocol], security, user, password };
  } catch {
    // A percent sign that escapes nothing.
    return null;
  }
}

/** One plain address, as SMTP takes it (RFC 5321): no name, comment, quotes or second address. */
const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,255}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
export const MAIL_ADDRESS_CHARS_MAX = 254;

/** Whether the text is one mail address and nothing else. */
export const isMailAddress = (text: string): boolean => text.length <= MAIL_ADDRESS_CHARS_MAX && ADDRESS.test(text);
