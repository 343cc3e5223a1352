/**
 * Signatures of requests and webhooks, and the outcome of an attempt to deliver a webhook.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from './fault.ts';
import type { Mode } from './transfer.ts';

// ── Signatures ───────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Signs an API request or a webhook: HMAC-SHA256 over `timestamp.nonce.body`.
 * @param secret the whole shared text (`ss_…`, `whsec_…`); its UTF-8 bytes are the key
 * @param timestamp Unix seconds, exactly as in the header
 * @param body the raw body, empty when there is none; never a re-serialized one
 * @returns 64 lower-case hex digits
 */
export function sign(secret: string, timestamp: string | number, nonce: string, body: string | Uint8Array): string {
  return bytesToHex(hmacOf(utf8ToBytes(secret), `${timestamp}.${nonce}.`, body));
}

/**
 * The head of a request, which `signRequest` covers besides the body. `target`: path and query, as in the request line.
 */
export type RequestHead = Readonly<{ timestamp: string; nonce: string; method: string; target: string }>;

/**
 * Signs a whole API request: HMAC-SHA256 over timestamp, nonce, method and target, a line each, and the body. Unlike
 * `sign`, it binds the signature to the method and the path.
 * @param secret the API secret; its UTF-8 bytes are the key
 * @returns 64 lower-case hex digits
 */
export function signRequest(
  secret: string,
  { timestamp, nonce, method, target }: RequestHead,
  body: string | Uint8Array,
): string {
  return bytesToHex(hmacOf(utf8ToBytes(secret), `${timestamp}\n${nonce}\n${method}\n${target}\n`, body));
}

/**
 * Signs by the Standard Webhooks specification 1.0.0 (github.com/standard-webhooks/standard-webhooks, symmetric):
 * HMAC-SHA256 over `id.timestamp.body`, keyed with the bytes that the secret encodes.
 * @param secret `whsec_` and base64
 * @returns `v1,` and base64
 */
export function signStandard(secret: string, id: string, timestampS: number, body: string): string {
  invariant(secret.startsWith('whsec_'), 'a webhook secret starts with whsec_');
  const key = Uint8Array.from(atob(secret.slice('whsec_'.length)), (character) => character.charCodeAt(0));
  return `v1,${btoa(String.fromCharCode(...hmacOf(key, `${id}.${timestampS}.`, body)))}`;
}

/** Returns HMAC-SHA256 over a text and the body that follows it, without joining the two. */
function hmacOf(key: Uint8Array, before: string, body: string | Uint8Array): Uint8Array {
  const mac = hmac.create(sha256, key).update(utf8ToBytes(before));
  return mac.update(typeof body === 'string' ? utf8ToBytes(body) : body).digest();
}

/** Compares two hex texts, ignoring case, in a time that does not depend on where they differ. */
export function sameHex(left: string, right: string): boolean {
  const a = left.toLowerCase();
  const b = right.toLowerCase();
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

/** The content that an attempt signs. `timestampS` and `nonce` are new for each attempt. The rest never changes. */
type WebhookMessage = Readonly<{
  secret: string;
  /** During a rotation, the next secret also signs, but only in the Standard Webhooks header. */
  nextSecret: string | null;
  mode: Mode;
  eventId: string;
  eventType: string;
  body: string;
  timestampS: number;
  nonce: string;
}>;

/** Returns all headers of one attempt: the documented ones, and those that Standard Webhooks libraries verify. */
export function webhookHeaders(message: WebhookMessage): Record<string, string> {
  const { secret, nextSecret, mode, eventId, eventType, body, timestampS, nonce } = message;
  const secrets = nextSecret === null ? [secret] : [secret, nextSecret];
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhook/1.0',
    'X-Service-Signature': sign(secret, timestampS, nonce, body),
    'X-Service-Timestamp': String(timestampS),
    'X-Service-Nonce': nonce,
    'X-Service-Event-Type': eventType,
    'X-Service-Event-ID': eventId,
    'X-Service-Mode': mode,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': secrets.map((one) => signStandard(one, eventId, timestampS, body)).join(' '),
  };
}

// ── Targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the canonical spelling of a target's URL, without credentials and fragment. */
export function sameTarget(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, hostname, port, pathname, search } = new URL(url);
  return `${protocol}//${hostname.replace(/\.$/, '')}${port && `:${port}`}${pathname}${search}`;
}

// ── Attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Reasons for an attempt without a usable answer. `blocked_address`: the guard forbids calling the target. `too_large`:
 * the answer's headers exceed the limit. `http`: the answer is not HTTP.
 */
export const sendErrors = ['dns', 'tls', 'connect', 'timeout', 'blocked_address', 'too_large', 'http'] as const;
export type SendError = (typeof sendErrors)[number];

/** The outcome of an attempt. `retryAfterMs` is the wait that the receiver asked for, if any. */
export type Outcome =
  | Readonly<{ kind: 'answered'; status: number; retryAfterMs: number | null }>
  | Readonly<{ kind: 'unanswered'; error: SendError }>;

/** The next step of the delivery. `endpoint.ts` decides about the endpoint. */
export type Verdict =
  | Readonly<{ kind: 'delivered' }>
  | Readonly<{ kind: 'retry'; atMs: number }>
  | Readonly<{ kind: 'failed' }>;

/** Random part of a delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** Judges an answer. 2xx is delivered. 429, 5xx, redirects and no answer are retried. Any other 4xx ends it. */
export function judge(outcome: Outcome): Verdict['kind'] {
  if (outcome.kind === 'unanswered') return 'retry';
  const { status } = outcome;
  if (status >= 200 && status < 300) return 'delivered';
  return status >= 400 && status < 500 && status !== 429 ? 'failed' : 'retry';
}

/**
 * Decides the next step after an attempt.
 * @param attempt 1 for the first
 * @param retryDelaysS the wait after each attempt; when all are used up, the delivery has failed
 * @param random a number in [0, 1)
 * @param judged the meaning of the answer for the kind of endpoint
 */
export function verdict(
  attempt: number,
  outcome: Outcome,
  retryDelaysS: readonly number[],
  random: number,
  nowMs: number,
  judged: Verdict['kind'] = judge(outcome),
): Verdict {
  invariant(attempt >= 1, 'attempts are counted from one');
  if (judged !== 'retry') return { kind: judged };
  const delayS = retryDelaysS[attempt - 1];
  if (delayS === undefined) return { kind: 'failed' };
  const delayMs = delayS * 1000;
  const jitteredMs = delayMs * (1 - JITTER + 2 * JITTER * random);
  const askedMs = outcome.kind === 'answered' ? (outcome.retryAfterMs ?? 0) : 0;
  // A receiver may slow us down to twice the delay. It may not speed us up.
  return { kind: 'retry', atMs: nowMs + Math.round(Math.max(jitteredMs, Math.min(askedMs, 2 * delayMs))) };
}

/** Answer of an endpoint to a test event. `detail` is the text of the error. */
export type TestAnswer = Readonly<{
  eventId: string;
  status: number | null;
  error: SendError | 'stopped' | null;
  detail: string | null;
  answer: string | null;
  durationMs: number;
  isDelivered: boolean;
}>;
