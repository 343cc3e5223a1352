/**
 * The parameters of a door's request, and signatures over them. One key and one formula sign requests, notices and
 * returns: the fields sorted by name and joined as `name=value` by `&`, without any escape, then the key.
 */
import { createHash, createHmac } from 'node:crypto';
import { sameHex } from '../core/delivery.ts';
import type { DoorAlgorithm } from '../core/door.ts';
import { type DoorFault, doorFault } from './faults.ts';

export const REQUEST_UNITS_MAX = 8192;
const FIELD_NAME = /^[\w.-]{1,64}$/;
/** Half a surrogate pair comes in JSON only. */
const UNREADABLE = /[\p{Cc}\p{Cs}\ufffd]/u;

/** A request's parameters in their order, as they were sent. */
export type Fields = ReadonlyMap<string, string>;

/** Clients differ in what they drop before they sign. */
type Reading = Readonly<{ keepsEmpty: boolean; dropsBackslashes: boolean }>;
export const usualReading: Reading = { keepsEmpty: false, dropsBackslashes: false };

/** SSPanel and NeXT-Panel sign empty fields, and drop backslashes. Nearly all clients use the first reading. */
const readings: readonly Reading[] = [
  usualReading,
  { keepsEmpty: true, dropsBackslashes: false },
  { keepsEmpty: true, dropsBackslashes: true },
  { keepsEmpty: false, dropsBackslashes: true },
];

/**
 * Reads a query or the body of a form. MD5 collisions need binary text, so control characters and text that is not
 * UTF-8 are refused.
 * @param text as received; bytes that were no UTF-8 are U+FFFD
 */
export function readFields(text: string): Fields | DoorFault {
  if (text.length > REQUEST_UNITS_MAX) return doorFault('request', 'too_large');
  const fields = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [name, value] = [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)].map(unescaped);
    if (name == null || !FIELD_NAME.test(name)) return doorFault('request', 'malformed');
    const fault = takeField(fields, name, pair.includes('=') ? (value ?? null) : '');
    if (fault) return fault;
  }
  return fields;
}

/** Adds a parameter, or returns why it is refused. */
export function takeField(fields: Map<string, string>, name: string, value: string | null): DoorFault | null {
  if (!FIELD_NAME.test(name)) return doorFault('request', 'malformed');
  if (fields.has(name)) return doorFault(name, 'duplicate');
  if (value === null || UNREADABLE.test(value)) {
    return doorFault(name, 'malformed');
  }
  fields.set(name, value);
  return null;
}

/** Returns null if it is not UTF-8. */
function unescaped(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Returns the fields but some. */
export const without = (fields: Fields, names: readonly string[]): Fields =>
  new Map([...fields].filter(([name]) => !names.includes(name)));

/** Returns the text that is signed. Fields are sorted by their names' bytes. */
export function joined(fields: Fields, { keepsEmpty, dropsBackslashes }: Reading): string {
  const text = [...fields]
    .filter(([, value]) => keepsEmpty || value !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return dropsBackslashes ? text.replaceAll('\\', '') : text;
}

/** Returns lower-case hex digits: 32 of MD5, 64 of HMAC-SHA256. */
const digest = (text: string, key: string, algorithm: DoorAlgorithm): string =>
  algorithm === 'md5'
    ? createHash('md5').update(`${text}${key}`).digest('hex')
    : createHmac('sha256', key).update(text).digest('hex');

/** Signs our own fields. Nobody reads them in two ways: `cleanName` and `isParam` keep out what could be cut. */
export const sign = (fields: Fields, key: string, algorithm: DoorAlgorithm): string =>
  digest(joined(fields, usualReading), key, algorithm);

/**
 * Checks a request's signature in constant time for each way of writing the text.
 * @param fields all that were received but the signature's own
 * @returns the algorithm that it was made with, or null if it is wrong
 */
export function verify(
  fields: Fields,
  signature: string,
  key: string,
  algorithms: readonly DoorAlgorithm[],
): DoorAlgorithm | null {
  const texts = new Set(readings.map((reading) => joined(fields, reading)));
  const right = algorithms.filter((algorithm) =>
    [...texts].map((text) => sameHex(digest(text, key, algorithm), signature)).includes(true),
  );
  return right[0] ?? null;
}

/**
 * Finds text that another reader could cut into fields of its own: `&trade_no=` within a value. Every reader sorts, so
 * only a name that comes after the value's own can be cut out.
 * @param guarded names that count money or orders
 */
export function findRecut(fields: Fields, guarded: readonly string[]): DoorFault | null {
  for (const [name, value] of fields) {
    if (guarded.some((other) => other > name && value.includes(`&${other}=`))) return doorFault(name, 'recut');
  }
  return null;
}
