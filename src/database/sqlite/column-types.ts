/**
 * Column types for values that SQLite has no type for. All of them let null pass, for drizzle asks them about null parameters too.
 * @module
 */
import { customType } from 'drizzle-orm/sqlite-core';
import { parseExactly, writeExactly } from '../../core/exact-json.ts';
import type { PaymentOption } from '../database.ts';

/**
 * Money and other integers of any size: decimal TEXT in the file, bigint in code. An INTEGER column would end at 9.2 tokens of
 * 18 decimals, and SQL's own arithmetic on such text turns to floating point: add and compare in code only.
 */
export const units = customType<{ data: bigint; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value: bigint | null) => (value === null ? null : value.toString()) as string,
  fromDriver: (text) => BigInt(text),
});

/** Plain data as JSON text. */
export const json = <T>() =>
  customType<{ data: T; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value: T | null) => (value === null ? null : JSON.stringify(value)) as string,
    fromDriver: (text) => JSON.parse(text) as T,
  })();

/** What a merchant sent, as JSON text with its numbers as they were. */
export const exactJson = <T>() =>
  customType<{ data: T; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value: T | null) => (value === null ? null : writeExactly(value)) as string,
    fromDriver: (text) => parseExactly(text) as T,
  })();

/** Payment options as JSON text, their units as decimal strings. */
export const paymentOptions = customType<{ data: readonly PaymentOption[]; driverData: string }>({
  dataType: () => 'text',
  toDriver: (options) => JSON.stringify(options.map((option) => ({ ...option, units: option.units.toString() }))),
  fromDriver: (text) =>
    (JSON.parse(text) as (Omit<PaymentOption, 'units'> & { units: string })[]).map((option) => ({
      ...option,
      units: BigInt(option.units),
    })),
});
