/**
 * Column types for values that SQLite has no type for. Null is never mapped.
 */
import { customType } from 'drizzle-orm/sqlite-core';
import type { Beginning } from '../../core/arrival.ts';
import { parseExactly, writeExactly } from '../../core/exact-json.ts';
import { invariant, permanent } from '../../core/fault.ts';
import { type Intent, withoutMac } from '../../core/intent.ts';
import type { ReceiptSum, Terms } from '../../core/session.ts';
import type { Conversion, PaymentOption, SessionRequest } from '../column-values.ts';

/** Returns the type of a column whose values are TEXT in the file. */
const asText = <T>(write: (value: T) => string, read: (text: string) => T) =>
  customType<{ data: T; driverData: string | null }>({
    dataType: () => 'text',
    // A value that is passed when a statement runs may be null.
    toDriver: (value) => (value === null ? null : write(value)),
    fromDriver: (text) => read(text as string),
  });

/**
 * Integers of any size, such as money: decimal TEXT in the file, bigint in code. An INTEGER column would overflow at
 * 9.2 tokens with 18 decimals, and SQL arithmetic on text uses floating point: add and compare only in code.
 */
export const units = asText<bigint>(
  (value) => value.toString(),
  (text) => BigInt(text),
);

/** Integers of any size in JSON: text as in code, such as `5n`. No other text of these columns has this form. */
const BIGINT = /^-?\d+n$/;
function bigintAsText(_: string, value: unknown): unknown {
  invariant(typeof value !== 'string' || !BIGINT.test(value), 'a text would be read as an integer');
  return typeof value === 'bigint' ? `${value}n` : value;
}
const textAsBigint = (_: string, value: unknown) =>
  typeof value === 'string' && BIGINT.test(value) ? BigInt(value.slice(0, -1)) : value;

/** Writes plain data with integers of any size as JSON text. */
export const writeBigJson = (value: unknown): string => JSON.stringify(value, bigintAsText);
export const readBigJson = <T>(text: string): T => JSON.parse(text, textAsBigint) as T;

/** Plain data as JSON text. */
export const json = <T>() =>
  asText<T>(
    (value) => JSON.stringify(value),
    (text) => JSON.parse(text) as T,
  )();

/** A merchant's own data, as JSON text with its numbers as they were. */
export const exactJson = <T>() => asText<T>(writeExactly, (text) => parseExactly(text) as T)();

/** The terms that a session is created with and keeps. A value that is queried, or changes, has a column of its own. */
export type SessionTerms = Omit<Terms, keyof Beginning> &
  Pick<SessionRequest, 'taxMinor' | 'shippingMinor' | 'webhookUrl'> &
  Readonly<{
    conversion: Conversion | null;
    options: readonly PaymentOption[];
    /** The order of a door that made it, by its id. */
    doorOrder?: string;
  }>;

/** The fields without which nobody can tell what is due, and their types in the file. */
const typesOfTerms = {
  duePar: 'bigint',
  tolerancePar: 'bigint',
  expiresAtS: 'number',
  topUpGraceS: 'number',
  monitoringS: 'number',
  latePolicy: 'string',
  inclusionGraceS: 'object',
} as const satisfies Partial<Record<keyof SessionTerms, string>>;

/** The order of an option's fields in the file: names would be most of a session's row. */
const optionFields = [
  ...(['network', 'networkKey', 'family', 'chainId', 'currency', 'token'] as const),
  ...(['decimals', 'units', 'confirmationsRequired'] as const),
] satisfies readonly (keyof PaymentOption)[];

const isOption = (row: unknown): row is unknown[] => Array.isArray(row) && row.length === optionFields.length;

const readOption = (row: readonly unknown[]): PaymentOption =>
  Object.fromEntries(optionFields.map((name, at) => [name, row[at]])) as PaymentOption;

/** @throws Fault permanent `row_altered` */
export function readSessionTerms(text: string): SessionTerms {
  const { options, ...terms } = readBigJson<Omit<SessionTerms, 'options'> & Readonly<{ options: unknown }>>(text);
  const isWhole =
    Object.entries(typesOfTerms).every(([key, type]) => typeof terms[key as keyof typeof terms] === type) &&
    Array.isArray(terms.accepts);
  if (isWhole && Array.isArray(options) && options.every(isOption))
    return { ...terms, options: options.map(readOption) };
  throw permanent('row_altered', 'The terms of a session were altered in the database: restore it from a backup.');
}

/** A session's terms as JSON text, with each option as a list of its values. */
export const sessionTerms = asText<SessionTerms>(({ options, ...terms }) => {
  const rows = options.map((option) => optionFields.map((name) => option[name]));
  return writeBigJson({ ...terms, options: rows });
}, readSessionTerms);

/** A session's sums as JSON text. */
export const receiptSums = asText<readonly ReceiptSum[]>(writeBigJson, readBigJson);

/** Writes equal intents as the same text, whatever the order of their fields. */
export const writeIntent = (intent: Intent): string => JSON.stringify(intent, plain);

/** Returns whether two intents pay the same, whichever version of the secret key made their MACs. */
export const isSameIntent = (one: Intent, other: Intent): boolean =>
  writeIntent(withoutMac(one)) === writeIntent(withoutMac(other));

function plain(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return bigintAsText(key, value);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** An intent as JSON text. */
export const intent = asText<Intent>(writeIntent, readBigJson);
