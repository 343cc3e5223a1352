/**
 * Random identifiers and secrets. Sortable ids are 26 characters of Crockford base32: 48 bits of milliseconds, then 80
 * random bits.
 */
import { randomBytes, randomInt } from 'node:crypto';

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns 26 characters that sort by creation time, in the layout of a ULID (github.com/ulid/spec), lower case. */
export const sortableId = (nowMs: number): string =>
  sortableTime(nowMs) + crockford(BigInt(`0x${randomBytes(10).toString('hex')}`), 16);

/** Returns what ids of this time begin with: it sorts before all of them, and after those of earlier times. */
export const sortableTime = (atMs: number): string => crockford(BigInt(atMs), 10);

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
