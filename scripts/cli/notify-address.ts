/**
 * What `quayside notify add` is informed about a target: its channel's address, and the secrets in it.
 * @module
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import type { ChannelKind } from '../../src/database/notices.ts';
import { newWebhookSecret } from '../../src/lib/id.ts';
import { type MailServer, readMailServer } from '../../src/lib/mail-server.ts';
import { addressShapes } from '../../src/notifications/channels.ts';
import { type Input, notFound, textOption, usage } from './command.ts';

const TELEGRAM = 'https://api.telegram.org';
const NTFY = 'https://ntfy.sh';

/** What each kind reads from its secret file. */
export const secretFiles: Readonly<Record<ChannelKind, string>> = {
  email: 'the password of --user; without --user none is needed',
  telegram: 'the token of the bot, as BotFather gave it',
  ntfy: 'the topic, which is like a password, and below it an access token if the server wants one',
  slack: 'the URL of the incoming webhook',
  discord: 'the URL of the webhook',
  webhook: 'the URL; the secret that signs the messages is made now and shown once',
  'dead-man': 'the URL that is called each minute while all is well',
};

/** Returns the address as it is saved. @throws Fault permanent `usage`, `not_found` */
export function readTarget(kind: ChannelKind, input: Input): string {
  const [first = '', second = ''] = kind === 'email' && !textOption(input, 'user') ? [] : readSecret(kind, input);
  const given = {
    email: () => ({ ...mailServer(input, first), from: needed(input, 'from'), to: needed(input, 'to') }),
    telegram: () => ({
      server: textOption(input, 'server') ?? TELEGRAM,
      token: first,
      chat: needed(input, 'to'),
    }),
    ntfy: () => ({ server: textOption(input, 'server') ?? NTFY, topic: first, token: second || null }),
    slack: () => ({ url: first }),
    discord: () => ({ url: first }),
    webhook: () => ({ url: first, secret: newWebhookSecret() }),
    'dead-man': () => ({ url: first }),
  }[kind]();
  const read = addressShapes[kind].safeParse(given);
  // Zod's texts do not repeat the value.
  if (!read.success) throw usage(`${kind}: ${z.prettifyError(read.error).replaceAll('\n', ' ')}`);
  return JSON.stringify(read.data);
}

function needed(input: Input, name: string): string {
  const text = textOption(input, name);
  if (text === undefined) throw usage(`--${name} is missing`);
  return text;
}

function mailServer(input: Input, password: string): MailServer {
  const text = needed(input, 'smtp');
  const server = readMailServer(text);
  if (!server || server.user !== null) {
    throw usage(`--smtp is "${text}", expected smtps://HOST[:465] (TLS), or smtp://HOST[:587] (STARTTLS)`);
  }
  const user = textOption(input, 'user') ?? null;
  return { ...server, user, password: user === null ? null : password };
}

/** Returns the lines of the secret file. A secret on the command line would be seen by everybody on the machine. */
function readSecret(kind: ChannelKind, input: Input): string[] {
  const name = needed(input, 'secret-file');
  const file = name === '-' ? 0 : resolve(input.cwd, name);
  try {
    if (file !== 0 && (statSync(file).mode & 0o077) !== 0) {
      throw usage(`other users of this machine can read ${file}; run: chmod 600 ${file}`);
    }
    return readFileSync(file, 'utf8')
      .split(/\r?\n/)
      .map((line) => line.trim());
  } catch (error) {
    if (error instanceof Error && 'errno' in error) {
      throw notFound(`${name} cannot be read (${error.message}); it must hold ${secretFiles[kind]}`);
    }
    throw error;
  }
}
