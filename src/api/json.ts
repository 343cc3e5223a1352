/**
 * JSON as the API reads it: strict UTF-8, one object, each key once, and numbers that are what they say.
 * @module
 */
import { createHash } from 'node:crypto';
import { parseExactly, writeExactly } from '../core/exact-json.ts';
import { Fault } from '../core/fault.ts';
import { refuse } from './errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a request body.
 * @returns the object; a number such as 1050.0 is an `ExactNumber`, which no schema takes for an integer
 * @throws Refusal `invalid_json`
 */
export function readJsonObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const value = parse(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('invalid_json');
  return value as Record<string, unknown>;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseExactly(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof Fault) throw refuse('invalid_json', { message: `${error.message} Send each key once.` });
    if (error instanceof SyntaxError || error instanceof TypeError) throw refuse('invalid_json');
    throw error;
  }
}

/** JSON text with sorted keys, so that the same meaning has the same text. Bigints become decimal strings. */
export const canonicalJson = (value: unknown): string => writeExactly(value, (a, b) => (a < b ? -1 : 1));

/** SHA-256, hex, of what a request means. */
export const meaningHash = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');
