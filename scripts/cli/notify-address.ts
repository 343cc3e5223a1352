/**
 * What `quayside notify add` is informed about a target: its channel's address, and the secrets in it.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ChannelKind } from '../../src/database/notices.ts';
import { readTargetAddress } from '../../src/notifications/new-target.ts';
import { type Input, notFound, textOption, usage } from './command.ts';

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
  const [secret = '', token = ''] = kind === 'email' && !textOption(input, 'user') ? [] : readSecret(kind, input);
  const options = ['to', 'from', 'smtp', 'user', 'server'] as const;
  const typed = Object.fromEntries(options.map((name) => [name, textOption(input, name)]));
  const read = readTargetAddress(kind, { ...typed, secret, token });
  if ('address' in read) return read.address;
  const { field, problem } = read;
  if (problem === null) throw usage(field === 'secret' ? 'the secret file is empty' : `--${field} is missing`);
  throw usage(field === 'smtp' ? `--smtp is ${problem}` : `${kind}: ${problem}`);
}

function needed(input: Input, name: string): string {
  const text = textOption(input, name);
  if (text === undefined) throw usage(`--${name} is missing`);
  return text;
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
