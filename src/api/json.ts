/**
 * JSON as the API reads it: strict UTF-8, one object, and integers that are what they say.
 * @module
 */
import { createHash } from 'node:crypto';
import { refuse } from './errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Strings and numbers of a valid JSON text, in order. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const DIGITS_ONLY = /^-?\d+$/;

/**
 * Reads a request body.
 * @returns the object, own keys only as sent
 * @throws Refusal `invalid_json`
 */
export function readJsonObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const value = parse(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('invalid_json');
  return value as Record<string, unknown>;
}

function parse(bytes: Uint8Array): unknown {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    const unmasked = unmaskFractions(text);
    return unmasked === text ? value : JSON.parse(unmasked);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) throw refuse('invalid_json');
    throw error;
  }
}

/**
 * `JSON.parse` turns 1050.0 and 9007199254740990.6 into integers, and money would be taken that nobody wrote. A number that is
 * not plain digits but would read as an integer is replaced by one that cannot, so that the schema refuses it where it stands.
 */
function unmaskFractions(json: string): string {
  return json.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || DIGITS_ONLY.test(token) || !Number.isInteger(Number(token)) ? token : '0.5',
  );
}

/** JSON text with sorted keys, so that the same meaning has the same text. Bigints become decimal strings. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}"`;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** SHA-256, hex, of what a request means. */
export const meaningHash = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');
