/**
 * JSON as the API reads it: strict UTF-8, one object, each key once, numbers kept exactly.
 */
import { createHash } from 'node:crypto';
import { parseExactly, writeExactly } from '../core/exact-json.ts';
import { Fault } from '../core/fault.ts';
import type { Replay } from '../database/replays.ts';
import { refuse } from './errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a request body.
 * @returns the object; a number such as 1050.0 is an `ExactNumber`, which no schema accepts as an integer
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

/** Returns JSON with sorted keys, so that equal values have equal text. Bigints become decimal strings. */
export const canonicalJson = (value: unknown): string => writeExactly(value, (a, b) => (a < b ? -1 : 1));

/** Characters of a hash that each session keeps: 132 bits. */
const HASH_CHARACTERS = 22;

/** Returns the first bits of the SHA-256 of a value's canonical JSON, in base64url. */
export const meaningHash = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, HASH_CHARACTERS);

/** Returns what identifies a repeated call, by what it means. */
export const replayOf = (call: Pick<Replay, 'idempotencyKey' | 'path'>, meaning: unknown): Replay => ({
  idempotencyKey: call.idempotencyKey,
  path: call.path,
  bodyHash: meaningHash(meaning),
});
