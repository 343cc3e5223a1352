/**
 * The channels: the form of a message for each service, and its address.
 *
 * Sources: https://core.telegram.org/bots/api#sendmessage, https://docs.ntfy.sh/publish/#publish-as-json,
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
 * https://docs.discord.com/developers/resources/webhook#execute-webhook.
 */
import * as z from 'zod';
import { webhookHeaders } from '../core/delivery.ts';
import { excerpt } from '../core/excerpt.ts';
import type { NoticeText, Severity } from '../core/notice.ts';
import type { ChannelKind } from '../database/column-values.ts';
import { type MailSettings, sendMail } from './email.ts';
import type { Answer, Outgoing, Send } from './post.ts';

const TELEGRAM_CHARACTERS_MAX = 4_096;
const DISCORD_CHARACTERS_MAX = 2_000;
/** Longest message of ntfy. Longer ones become an attachment. */
const NTFY_BYTES_MAX = 4_096;
/** The reason why no mail is sent. */
export const NO_MAIL = 'the settings have no `mail`';
const JSON_TYPE = { 'Content-Type': 'application/json' };

const TELEGRAM = 'https://api.telegram.org';

const url = z.url({ protocol: /^https?$/ }).max(2_048);
/** The URL of a topic. The topic is the last part of the path, and is like a password. */
const topicUrl = url.regex(/^https?:\/\/.+\/[\w-]{1,64}$/, 'Invalid URL of a topic');

/** Fields of each channel's address. People type all but `secret`, which is made here. */
export const addressShapes = {
  email: z.strictObject({ to: z.email().max(254) }),
  telegram: z.strictObject({ token: z.string().regex(/^\d+:[\w-]+$/), to: z.string().min(1) }),
  ntfy: z.strictObject({ url: topicUrl, token: z.string().optional() }),
  slack: z.strictObject({ url }),
  discord: z.strictObject({ url }),
  webhook: z.strictObject({ url, secret: z.string().min(1) }),
  'dead-man': z.strictObject({ url }),
} as const satisfies Readonly<Record<ChannelKind, z.ZodType>>;

type Address<Kind extends ChannelKind> = z.infer<(typeof addressShapes)[Kind]>;

/** A message. It keeps its `id` when it is sent again. */
export type Message = NoticeText & Readonly<{ id: string; atS: number; nonce: string }>;

/** Outcome of a message. `text` is the service's own words, without secrets. */
export type Delivered = Answer;

/** The fields of addresses that give access, and must not be shown. */
const secretParts: ReadonlySet<string> = new Set(['url', 'token', 'secret']);
/** Least length of a secret that is removed from answers. Shorter texts occur in every answer. */
const SECRET_CHARACTERS_MIN = 4;

const ntfyPriority: Readonly<Record<Severity, number>> = { page: 5, act: 4, know: 3 };

/** Cuts a text to at most `max` UTF-16 units, and never through a character. */
const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;

function cutBytes(text: string, max: number): string {
  const bytes = Buffer.from(text);
  // A character that was cut ends as U+FFFD.
  return bytes.length > max
    ? `${bytes
        .subarray(0, max - 3)
        .toString()
        .replace(/\ufffd+$/, '')}…`
    : text;
}
const whole = ({ title, text }: NoticeText): string => `${title}\n\n${text}`;

/** Returns the request of each channel that speaks HTTP. */
const requests = {
  // Without `parse_mode`, Telegram reads no markup in the text.
  telegram: ({ token, to }: Address<'telegram'>, message: Message): Outgoing => ({
    url: `${TELEGRAM}/bot${token}/sendMessage`,
    headers: JSON_TYPE,
    body: JSON.stringify({
      chat_id: to,
      text: cut(whole(message), TELEGRAM_CHARACTERS_MAX),
      link_preview_options: { is_disabled: true },
      disable_notification: message.severity === 'know',
    }),
  }),
  ntfy: ({ url, token }: Address<'ntfy'>, { title, text, severity }: Message): Outgoing => {
    const topicAt = url.lastIndexOf('/') + 1;
    const message = cutBytes(text, NTFY_BYTES_MAX);
    const body = { topic: url.slice(topicAt), title, message, priority: ntfyPriority[severity], tags: [severity] };
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    return { url: url.slice(0, topicAt), headers: { ...JSON_TYPE, ...authorization }, body: JSON.stringify(body) };
  },
  slack: ({ url }: Address<'slack'>, message: Message): Outgoing => {
    const escaped = whole(message).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    return { url, headers: JSON_TYPE, body: JSON.stringify({ text: escaped, mrkdwn: false }) };
  },
  discord: ({ url }: Address<'discord'>, message: Message): Outgoing => {
    // Backslashes keep Discord from reading the text as Markdown.
    const plain = whole(message).replace(/[\\*_~`|>#[\]()<]/g, '\\$&');
    const content = cut(plain, DISCORD_CHARACTERS_MAX);
    return { url, headers: JSON_TYPE, body: JSON.stringify({ content, allowed_mentions: { parse: [] } }) };
  },
  webhook: ({ url, secret }: Address<'webhook'>, message: Message): Outgoing => {
    const { id, title, text, severity, atS, nonce } = message;
    const data = { object: { severity, title, text } };
    const body = JSON.stringify({ id, type: 'operator.notice', created_at: atS, data });
    const signed = { secret, nextSecret: null, mode: 'live', eventId: id, eventType: 'operator.notice', body } as const;
    return { url, headers: webhookHeaders({ ...signed, timestampS: atS, nonce }), body };
  },
} as const;

const telegramAnswer = z.object({ parameters: z.object({ retry_after: z.int().min(0).max(3_600) }) });

/** Returns the wait before a retry, which Telegram names in the body. */
function telegramRetryMs(text: string): number | null {
  try {
    const { data } = telegramAnswer.safeParse(JSON.parse(text));
    return data ? data.parameters.retry_after * 1_000 : null;
  } catch {
    return null;
  }
}

const readAddress = <Kind extends ChannelKind>(kind: Kind, text: string): Address<Kind> =>
  addressShapes[kind].parse(JSON.parse(text)) as Address<Kind>;

/** The ways in which messages leave: requests behind the guard, and the installation's mail server, if it has one. */
export type Ways = Readonly<{ send: Send; mail: MailSettings | null }>;

/** Sends a message to a target, or calls its URL if it is a dead-man one. */
export async function deliver(ways: Ways, kind: ChannelKind, address: string, message: Message): Promise<Delivered> {
  const answer = await sendAs(ways, kind, address, message);
  const retryAfterMs = answer.retryAfterMs ?? (kind === 'telegram' ? telegramRetryMs(answer.text) : null);
  return { ...answer, text: excerpt(withoutSecrets(answer.text, address)), retryAfterMs };
}

/**
 * Removes secrets from an answer. Services repeat the request, even URLs with tokens, and answers are logged and
 * listed.
 */
function withoutSecrets(text: string, address: string): string {
  const parts = Object.entries(JSON.parse(address) as object).flatMap(([name, value]) => {
    if (typeof value !== 'string' || !secretParts.has(name)) return [];
    const path = URL.canParse(value) ? new URL(value).pathname.slice(1) : '';
    return [value, path].filter((part) => part.length >= SECRET_CHARACTERS_MIN);
  });
  return parts.reduce((left, part) => left.replaceAll(part, '…'), text);
}

function sendAs({ send, mail }: Ways, kind: ChannelKind, address: string, message: Message): Promise<Answer> {
  switch (kind) {
    case 'email':
      return sendByMail(mail, readAddress(kind, address).to, message);
    case 'dead-man':
      return send({ url: readAddress(kind, address).url });
    case 'telegram':
      return send(requests.telegram(readAddress(kind, address), message));
    case 'ntfy':
      return send(requests.ntfy(readAddress(kind, address), message));
    case 'slack':
      return send(requests.slack(readAddress(kind, address), message));
    case 'discord':
      return send(requests.discord(readAddress(kind, address), message));
    case 'webhook':
      return send(requests.webhook(readAddress(kind, address), message));
  }
}

async function sendByMail(mail: MailSettings | null, to: string, { id, title, text }: Message): Promise<Answer> {
  if (mail === null) return { ok: false, status: null, text: NO_MAIL, retryAfterMs: null };
  const { url, from } = mail;
  return sendMail(url, { from, to, subject: title, text, messageId: `<${id}@${from.split('@')[1]}>` });
}
