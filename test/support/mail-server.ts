/**
 * A real mail server on loopback, and what arrived there.
 */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { MailSettings } from '../../src/notifications/email.ts';

export type Received = { from: string; to: string[]; text: string; user: string };

/** `refuse`: how recipients are refused, by their address. */
export type MailServerOptions = Readonly<{
  auth?: string;
  tls?: { key: string; cert: string };
  secure?: boolean;
  refuse?: (address: string) => string | null;
}>;

/** Starts a real mail server on loopback. `auth`: the password that it takes. */
export async function startMailServer(options: MailServerOptions = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    ...(options.tls ? { ...options.tls, secure: options.secure ?? false } : { disabledCommands: ['STARTTLS'] }),
    authOptional: options.auth === undefined,
    onAuth({ username, password }, _session, done) {
      if (password !== options.auth) return done(new Error('Invalid username or password'));
      done(null, { user: username ?? '' });
    },
    onRcptTo({ address }, _session, done) {
      const refusal = options.refuse?.(address) ?? null;
      if (refusal === null) return done();
      done(Object.assign(new Error(refusal), { responseCode: Number.parseInt(refusal, 10) }));
    },
    onData(stream, { envelope, user }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        received.push({ from, to, text: Buffer.concat(chunks).toString(), user: String(user ?? '') });
        done(null, 'queued as 12');
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return { port, received, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

/** Returns the settings that send through a server. */
export const mailSettings = ({ port }: { port: number }): MailSettings => ({
  url: `smtp://127.0.0.1:${port}`,
  from: 'pay@installation.example',
});

/** Returns the plain text of a mail as it arrived: decoded, without headers. */
export function textOf({ text }: Pick<Received, 'text'>): string {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  if (/^Content-Transfer-Encoding: base64/im.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/^Content-Transfer-Encoding: quoted-printable/im.test(head)) return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
