/**
 * Exchange rates as exact ratios of integers. A rate is the price of one unit of one currency in another, above zero.
 * For a session it is the amount of stablecoin per unit of the session currency.
 */
import { invariant } from './fault.ts';
import { divideCeil, formatUnits, MINOR_DECIMALS, parseUnits, pow10 } from './money.ts';

/** `num / den`, both above zero, not always in lowest terms. */
export type Rate = Readonly<{ num: bigint; den: bigint }>;

const RATE_CHARACTERS_MAX = 60;
const RATE_DECIMALS_MIN = 4;
const RATE_DIGITS_MIN = 6;

/**
 * Reads a plain decimal ("1.0823", "151") exactly.
 * @returns null when the text is not a plain decimal (no sign, no exponent) above zero of at most 60 characters
 */
export function parseRate(text: string): Rate | null {
  if (text.length > RATE_CHARACTERS_MAX) return null;
  const point = text.indexOf('.');
  const decimals = point < 0 ? 0 : text.length - point - 1;
  const units = parseUnits(text, decimals);
  return units === null || units === 0n ? null : { num: units, den: pow10(decimals) };
}

/** Inverts a rate: yen per dollar becomes dollars per yen. */
export const invertRate = (rate: Rate): Rate => ({ num: rate.den, den: rate.num });

/** Returns a / b. Dollars per euro divided by yen per euro are dollars per yen. */
export const divideRates = (a: Rate, b: Rate): Rate => ({ num: a.num * b.den, den: a.den * b.num });

/** Returns the mean of two rates. */
export const meanRate = (a: Rate, b: Rate): Rate => ({ num: a.num * b.den + b.num * a.den, den: 2n * a.den * b.den });

/** Returns a number below zero when a < b, zero when they are equal, above zero when a > b. */
export function compareRates(a: Rate, b: Rate): number {
  const left = a.num * b.den;
  const right = b.num * a.den;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns the two middle rates of the sorted list, lower first. An odd count has the same rate twice. */
function middleRates(rates: readonly Rate[]): readonly [Rate, Rate] {
  const sorted = rates.toSorted(compareRates);
  const low = sorted[(sorted.length - 1) >> 1];
  const high = sorted[sorted.length >> 1];
  invariant(low && high, 'a middle needs at least one rate');
  return [low, high];
}

/** Returns the median, which is the mean of the middle two for an even number of rates. The list must not be empty. */
export function medianRate(rates: readonly Rate[]): Rate {
  const [low, high] = middleRates(rates);
  return low === high ? low : meanRate(low, high);
}

const MILLION = 1_000_000n;

/** Returns whether two rates differ by at most `ppmMax` millionths of the lower one. */
export function isWithin(a: Rate, b: Rate, ppmMax: bigint): boolean {
  const [low, high] = compareRates(a, b) <= 0 ? [a, b] : [b, a];
  return compareRates(high, { num: low.num * (MILLION + ppmMax), den: low.den * MILLION }) <= 0;
}

/**
 * Returns the quotes within `ppmMax` millionths of the median. Returns none if the two middle quotes are further apart
 * than that, because their mean is then no market price.
 */
export function agreeingQuotes<Q extends Readonly<{ rate: Rate }>>(quotes: readonly Q[], ppmMax: bigint): readonly Q[] {
  if (quotes.length === 0) return [];
  const rates = quotes.map(({ rate }) => rate);
  const [low, high] = middleRates(rates);
  if (!isWithin(low, high, ppmMax)) return [];
  const median = medianRate(rates);
  return quotes.filter(({ rate }) => isWithin(rate, median, ppmMax));
}

/**
 * Formats a rate for display and for the lock, with at least 4 decimals and at least 6 significant digits, rounded up.
 * Every conversion uses this text, so that anyone can check it.
 * @example formatRate({ num: 13n, den: 12n }) // "1.08334"
 */
export function formatRate(rate: Rate): string {
  invariant(rate.num > 0n && rate.den > 0n, 'a rate is above zero');
  const decimals = Math.max(RATE_DECIMALS_MIN, RATE_DIGITS_MIN - 1 - magnitude(rate));
  return formatUnits(divideCeil(rate.num * pow10(decimals), rate.den), decimals, decimals);
}

/** Returns the power of ten of the first significant digit: 2 for 151, 0 for 1.08, -3 for 0.0066. */
function magnitude({ num, den }: Rate): number {
  if (num >= den) return (num / den).toString().length - 1;
  let places = 1;
  for (let scaled = num * 10n; scaled < den; scaled *= 10n) places++;
  return -places;
}

/**
 * Converts an amount at a locked rate, rounded up, so that the amount due always covers the price.
 * @param amountMinor in minor units of the session currency, not negative
 * @param exponent decimals of the session currency's minor unit (ISO 4217)
 * @param rateText the shown rate, stablecoin per one unit of the session currency
 * @returns stablecoin minor units (0.01)
 */
export function convertMinor(amountMinor: bigint, exponent: number, rateText: string): bigint {
  const rate = parseRate(rateText);
  invariant(rate, `a locked rate is a plain decimal above zero, not ${JSON.stringify(rateText)}`);
  return divideCeil(amountMinor * rate.num * pow10(MINOR_DECIMALS), rate.den * pow10(exponent));
}
