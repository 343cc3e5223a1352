/**
 * Adding somebody who is informed: where messages go, from what a person has typed, and the code that proves that they
 * arrive.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import * as z from 'zod';
import type { ChannelKind } from '../database/column-values.ts';
import type { NewNoticeTarget, TargetField, TargetText } from '../database/notices.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import type { UrlGuard } from '../lib/guard.ts';
import { newWebhookSecret, sortableId } from '../lib/id.ts';
import { readMailServer } from '../lib/mail-server.ts';
import { addressShapes, type Delivered, deliver, readAddress } from './channels.ts';
import { createSend, type Send } from './post.ts';

const TELEGRAM = 'https://api.telegram.org';
const NTFY = 'https://ntfy.sh';
const CODES = 1_000_000;
const CODE_DIGITS = 6;

/** Fields that must be typed. */
const needed: Readonly<Record<ChannelKind, readonly TargetField[]>> = {
  email: ['smtp', 'from', 'to'],
  telegram: ['secret', 'to'],
  ntfy: ['secret'],
  slack: ['secret'],
  discord: ['secret'],
  webhook: ['secret'],
  'dead-man': ['secret'],
};

/** The fields that parts of an address are typed in, where they are named otherwise. */
const typedIn: Readonly<Record<string, TargetField>> = {
  host: 'smtp',
  port: 'smtp',
  security: 'smtp',
  password: 'secret',
  chat: 'to',
  topic: 'secret',
  url: 'secret',
};

/** `address` is what is saved; or which field is wrong and why, null if it is missing. No problem repeats a secret. */
type ReadAddress = Readonly<{ address: string }> | Readonly<{ field: TargetField; problem: string | null }>;

/** Returns where messages of a kind go. A webhook's secret is made here. */
export function readTargetAddress(kind: ChannelKind, typed: TargetText): ReadAddress {
  const { secret = '', token, to, from, smtp = '', user, server } = typed;
  const missing = needed[kind].find((field) => !typed[field]) ?? (user && !secret ? 'secret' : undefined);
  if (missing) return { field: missing, problem: null };
  const mailServer = readMailServer(smtp);
  if (kind === 'email' && (!mailServer || mailServer.user !== null)) {
    const problem = `"${smtp}", expected smtps://HOST[:465] (TLS), or smtp://HOST[:587] (STARTTLS)`;
    return { field: 'smtp', problem };
  }
  const given = {
    email: () => ({ ...mailServer, user: user || null, password: user ? secret : null, from, to }),
    telegram: () => ({ server: server || TELEGRAM, token: secret, chat: to }),
    ntfy: () => ({ server: server || NTFY, topic: secret, token: token || null }),
    slack: () => ({ url: secret }),
    discord: () => ({ url: secret }),
    webhook: () => ({ url: secret, secret: newWebhookSecret() }),
    'dead-man': () => ({ url: secret }),
  }[kind]();
  const read = addressShapes[kind].safeParse(given);
  if (read.success) return { address: JSON.stringify(read.data) };
  const part = String(read.error.issues[0]?.path[0] ?? '');
  const field = kind === 'telegram' && part === 'token' ? 'secret' : (typedIn[part] ?? (part as TargetField));
  // Zod's texts do not repeat the value.
  return { field, problem: z.prettifyError(read.error).replaceAll('\n', ' ') };
}

/** Makes what is saved of a new target, with its code. */
export const newTarget = (
  wish: Omit<NewNoticeTarget, 'id' | 'code' | 'createdAtMs'>,
  nowMs: number,
): NewNoticeTarget => ({
  ...wish,
  id: `nt_${sortableId(nowMs)}`,
  code: String(randomInt(CODES)).padStart(CODE_DIGITS, '0'),
  createdAtMs: nowMs,
});

/** Sends a new target its code. @returns what the service answered */
export function sendCode(
  { send, clock }: Readonly<{ send: Send; clock: Clock }>,
  { id, kind, address, code }: NewNoticeTarget,
): Promise<Delivered> {
  const text = `Your code is ${code}.\n\nType it in the dashboard, at Alarms.`;
  return deliver(send, kind, address, {
    id: `code-${id}`,
    title: 'Quayside: prove this target',
    text,
    severity: 'know',
    atS: toSeconds(clock.nowMs()),
    nonce: randomUUID(),
  });
}

/**
 * Returns how the dashboard adds a target. A mail server must be one that the guard admits: who signs in there need not
 * be somebody who may connect to everything that this machine reaches. It is not checked again at each send: a name
 * that changes later gains one greeting, since TLS with the name's own certificate comes before anything is sent.
 */
export function createTargetMaker({ guard, clock }: Readonly<{ guard: UrlGuard; clock: Clock }>) {
  const send = createSend(guard);
  return {
    async read(kind: ChannelKind, typed: TargetText): Promise<ReadAddress> {
      const read = readTargetAddress(kind, typed);
      if (!('address' in read) || kind !== 'email') return read;
      const { host } = readAddress('email', read.address);
      const problem = await guard.check(`https://${isIP(host) === 6 ? `[${host}]` : host}/`, 'live');
      return problem === null ? read : { field: 'smtp', problem };
    },
    async send(wish: Parameters<typeof newTarget>[0]) {
      const target = newTarget(wish, clock.nowMs());
      return { target, answer: await sendCode({ send, clock }, target) };
    },
  };
}
