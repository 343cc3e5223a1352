/**
 * The interface of rate sources, and the checks that all of them share.
 */
import type { z } from 'zod';
import { transient } from '../core/fault.ts';
import { compareRates, parseRate, type Rate } from '../core/rate.ts';
import type { Currency } from '../core/transfer.ts';

/** Every permitted name in `rates.sources`. */
export const sourceNames = ['kraken', 'binance', 'coinbase', 'ecb', 'static'] as const;
export type SourceName = (typeof sourceNames)[number];

/**
 * A session currency and the stablecoin it is paid in, such as `EUR/USDT`. `USD/USDT` and pairs of stablecoins, such as
 * `USDC/USDT`, only show a stablecoin's price.
 */
export type Pair = `${string}/${Currency}`;

export const pairOf = (currency: string, target: Currency): Pair => `${currency}/${target}`;

/**
 * An answer. `quotes`: stablecoin per one unit of the session currency. `asOfMs`: the time of the rates; null for now.
 */
export type Answer = Readonly<{ quotes: ReadonlyMap<Pair, Rate>; asOfMs: number | null }>;

/** Largest age of rates of sources that quote at all times, which are asked every minute. */
export const LIVE_AGE_S_MAX = 300;

export type RateSource = Readonly<{
  name: string;
  /** Largest age at which its rates are usable, in seconds. */
  ageSMax: number;
  /** Currencies that the source may quote. Other currencies in its answers are ignored. */
  currencies: ReadonlySet<string>;
  /** True if a person chose the rates, which then need no second source. */
  fixed?: true;
  /**
   * Asks the source once, with limits on time and size. Ends early when the signal aborts.
   * @throws Fault transient: `rate_source_unreachable`, `rate_source_refused` or `rate_source_malformed`, naming source
   * and field
   */
  fetch(signal: AbortSignal): Promise<Answer>;
}>;

/**
 * Returns the fault for an invalid answer. No part of it is used, and the last good answer stays until it is too old.
 */
export const malformed = (source: string, field: string, what: string) =>
  transient('rate_source_malformed', `${source} answered wrongly: ${field} ${what}; asking again at the next refresh`);

/**
 * Checks a value from outside against its schema.
 * @param at the value's place in the answer
 * @throws Fault naming the source and the first field that is wrong
 */
export function check<Shape>(source: string, schema: z.ZodType<Shape>, value: unknown, at: readonly string[]): Shape {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const path = [...at, ...(issue?.path ?? []).map(String)].join('.');
  throw malformed(source, path || 'the body', `is wrong (${issue?.message})`);
}

// No currency is worth more than a trillion of another. Such an answer is a mistake.
const priceMin: Rate = { num: 1n, den: 10n ** 12n };
const priceMax: Rate = { num: 10n ** 12n, den: 1n };

/** Reads a plain decimal between 10^-12 and 10^12. @returns null for anything else */
export function plausiblePrice(text: string): Rate | null {
  const price = parseRate(text);
  return price && compareRates(price, priceMin) >= 0 && compareRates(price, priceMax) <= 0 ? price : null;
}

/**
 * Reads a price from an answer. Every source sends prices as text. A JSON number has already lost digits, and is
 * refused.
 * @returns null for zero, which sources use for "no market now"
 */
export function readPrice(source: string, field: string, value: unknown): Rate | null {
  if (typeof value !== 'string') throw malformed(source, field, `is not text but ${typeof value}`);
  if (/^0(\.0{1,40})?$/.test(value)) return null;
  const price = plausiblePrice(value);
  if (!price) throw malformed(source, field, `is not a plausible price: ${JSON.stringify(value.slice(0, 40))}`);
  return price;
}
