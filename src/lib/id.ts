/**
 * Random identifiers and secrets. Sortable ids are 26 characters of Crockford base32: 48 bits of milliseconds, then 80
 * random bits.
 * @module
 */
import { randomBytes, randomInt } from 'node:crypto';

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns 26 characters that sort by creation time, in the layout of a ULID (github.com/ulid/spec), lower case. */
export function sortableId(nowMs: number): string {
  const random = BigInt(`0x${randomBytes(10).toString('hex')}`);
  let value = (BigInt(nowMs) << 80n) | random;
  let text = '';
  for (let at = 0; at < 26; at++) {
    text = CROCKFORD.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return text;
}

const TIME_CHARS = 10;

/** Returns what ids of this time begin with: it sorts before all of them, and after those of earlier times. */
export const sortableTime = (atMs: number): string => sortableId(atMs).slice(0, TIME_CHARS);

/** Returns `length` characters of base62, each uniformly random. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62.charAt(randomInt(62))).join('');
}

/** Returns a webhook secret as the Standard Webhooks spec defines it: `whsec_` and base64 of 32 random bytes. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
