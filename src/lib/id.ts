/**
 * Random identifiers and secrets. Sortable ids are 26 characters of Crockford base32: 48 bits of milliseconds, then 80
 * random bits.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto';

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Returns 26 characters that sort by creation time, in the layout of a ULID (github.com/ulid/spec), lower case.
 * @param subject what it is for: the same subject has the same id again. Random if absent
 */
export function sortableId(nowMs: number, subject?: string): string {
  const rest = subject === undefined ? randomBytes(10) : createHash('sha256').update(subject).digest().subarray(0, 10);
  return sortableTime(nowMs) + crockford(BigInt(`0x${rest.toString('hex')}`), 16);
}

/** Returns what ids of this time begin with: it sorts before all of them, and after those of earlier times. */
export const sortableTime = (atMs: number): string => crockford(BigInt(atMs), 10);

/** Returns a store's id, from a sortable one. It is short, because each session and event of the store has it. */
export const storeIdOf = (id: string): string => `mer_${id.slice(-10)}`;

/** Returns a number as so many characters. */
function crockford(value: bigint, length: number): string {
  const characters = Array.from({ length }, (_, at) => CROCKFORD.charAt(Number((value >> BigInt(5 * at)) & 31n)));
  return characters.reverse().join('');
}

/** Returns `length` characters of base62, each uniformly random. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62.charAt(randomInt(62))).join('');
}

/** Returns a webhook secret as the Standard Webhooks spec defines it: `whsec_` and base64 of 32 random bytes. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

const SESSION_ID = /^(?:cs_|sess_)?([0-9a-hjkmnp-tv-z]{26})$/;

export const newSessionId = (nowMs: number): string => `cs_${sortableId(nowMs)}`;

/** Returns what sorts before every session created at this time or later, and after all earlier ones. */
export const firstSessionId = (atMs: number): string => `cs_${sortableTime(atMs)}`;

/** @returns the id as it is stored, or null when this cannot be a session's id */
export function parseSessionId(text: string): string | null {
  const body = SESSION_ID.exec(text)?.[1];
  return body ? `cs_${body}` : null;
}

// ── Tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const TOKEN_BYTES = 32;

export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

/** Returns the SHA-256 of a token or of bytes, in hex. */
export const hashOf = (token: string | Uint8Array): string => createHash('sha256').update(token).digest('hex');
