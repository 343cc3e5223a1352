/**
 * Kinds of settings: how each is read, and what an operator is told if it is wrong.
 */
import * as z from 'zod';
import { MINOR_DECIMALS, minorToPar, parseUnits } from '../core/money.ts';

/** Returns the value, or undefined when it is invalid. */
export type Reader<T> = (value: unknown) => T | undefined;

/**
 * Defines one setting.
 * @param expected completes "expected …"
 * @param shown false if the value may hold a secret and must not appear in a message
 */
export function setting<T>(expected: string, read: Reader<T>, shown = true) {
  return z.any().transform((value: unknown, context): T => {
    const result = read(value);
    if (result !== undefined) return result;
    const found = value === undefined ? 'missing' : shown ? JSON.stringify(value) : 'not usable';
    context.issues.push({ code: 'custom', input: value, message: `${found}, expected ${expected}` });
    return z.NEVER;
  });
}

export const orNull =
  <T>(read: Reader<T>): Reader<T | null> =>
  (value) =>
    value === null ? null : read(value);

/** Reads a whole number, also as digits in a text, because environment variables are text. */
const wholeBetween =
  (min: number, max: number): Reader<number> =>
  (value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? BigInt(value) : value;
    const whole = typeof number === 'bigint' || Number.isSafeInteger(number) ? Number(number) : undefined;
    return whole !== undefined && whole >= min && whole <= max ? whole : undefined;
  };

export const matching =
  (pattern: RegExp): Reader<string> =>
  (value) =>
    typeof value === 'string' && pattern.test(value) ? value : undefined;

export const whole = (min: number, max: number) =>
  setting(`a whole number from ${min} to ${max}`, wholeBetween(min, max));

export const wholeOrNull = (min: number, max: number) =>
  setting(`a whole number from ${min} to ${max}, or null`, orNull(wholeBetween(min, max)));

export const oneOf = <T extends string>(values: readonly T[]) =>
  setting<T>(`one of ${values.join(', ')}`, (value) => values.find((one) => one === value));

const splitList = (text: string): string[] => (text.trim() ? text.split(',').map((part) => part.trim()) : []);

/** Defines a list, as JSON or comma-separated text. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? splitList(value) : value),
    z.array(item, { error: 'expected a list' }),
  );

export const group = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape, { error: groupError });

/** Defines a group that is one setting: its keys are data that belongs together, such as what a preset brings. */
export const record = <T extends z.ZodRawShape>(shape: T) => group(shape).meta({ isRecord: true });

/** Replaces zod's message for a value that is not an object; other messages stay. */
const groupError = (issue: { code?: string }) =>
  issue.code === 'invalid_type' ? 'expected an object with settings' : undefined;

/** Read as its value at par, so that it compares with tokens of any decimals. */
export const stablecoinAmount = setting<bigint>('an amount of stablecoins as text, such as "50.00"', (value) => {
  const minor = matching(/^\d{1,12}(\.\d{1,2})?$/)(value) && parseUnits(String(value), MINOR_DECIMALS);
  return minor ? minorToPar(minor) : undefined;
});

export const truth = setting<boolean>('true or false', (value) => (typeof value === 'boolean' ? value : undefined));

/** A setting that may be left out; null takes away what the preset has. */
export const orAbsent = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === null ? undefined : value), schema.optional());

// ── Paths ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A plain JSON object whose shape is not known yet. */
export type Tree = { [key: string]: unknown };

/** Formats a path: `networks.ethereum.tokens[0].decimals`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, at) => (/^\d+$/.test(String(key)) ? `[${String(key)}]` : `${at ? '.' : ''}${String(key)}`))
    .join('');
}

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────

type CamelName<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelName<Rest>>}` : Name;

/** A value whose settings have camel-case names, at any depth. */
export type CamelCased<T> = T extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : T extends object
    ? { readonly [Name in keyof T as CamelName<Name>]: CamelCased<T[Name]> }
    : T;

const camelName = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Renames the settings of plain objects, at any depth. */
export function camelCased<T>(value: T): CamelCased<T> {
  if (Array.isArray(value)) return value.map(camelCased) as CamelCased<T>;
  if (typeof value !== 'object' || value === null) return value as CamelCased<T>;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [camelName(name), camelCased(inner)]),
  ) as CamelCased<T>;
}
