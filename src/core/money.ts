/**
 * Money is bigint base units. Decimals belong to (network, token). A function that rounds has the direction in its
 * name.
 */
import { invariant } from './fault.ts';

/** The API counts USDT and USDC in units of 0.01, as dollars are counted in cents. */
export const MINOR_DECIMALS = 2;

/**
 * Decimals of par value, at which stablecoin amounts are compared, so that tokens with 6 and 18 decimals add up
 * exactly. The configuration refuses tokens with more decimals.
 */
export const PAR_DECIMALS = 18;

const PLAIN_DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

/** Returns 10 to the power of `exponent` (0–77). */
export function pow10(exponent: number): bigint {
  invariant(Number.isInteger(exponent) && exponent >= 0 && exponent <= 77, `exponent ${exponent} is within 0–77`);
  return 10n ** BigInt(exponent);
}

/**
 * Reads a plain decimal string ("10", "10.50") as base units. An amount is refused rather than rounded.
 * @returns the units, or null when the text is not a plain unsigned decimal or has more than `decimals` fraction digits
 */
export function parseUnits(text: string, decimals: number): bigint | null {
  const match = PLAIN_DECIMAL.exec(text);
  if (!match || text.length > 100) return null;
  const fraction = match[2] ?? '';
  if (fraction.length > decimals) return null;
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`);
}

/**
 * Formats base units as an exact decimal, with at least `placesMin` fraction digits and no trailing zeros beyond them.
 * @example formatUnits(10_500_000n, 6, 2) // "10.50"
 */
export function formatUnits(units: bigint, decimals: number, placesMin = 0): string {
  invariant(units >= 0n, 'an amount of money is not negative');
  const digits = units.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  let fraction = decimals === 0 ? '' : digits.slice(-decimals);
  while (fraction.length > placesMin && fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  fraction = fraction.padEnd(placesMin, '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/**
 * Formats base units for people, in the same way in every language. The text is exact, with commas between thousands,
 * and with at least two decimals if the asset has them. Use `formatUnits` for text to copy or type.
 * @example shownUnits(1_234_500_000n, 6) // "1,234.50"
 */
export function shownUnits(units: bigint, decimals: number): string {
  const [whole = '', fraction] = formatUnits(units, decimals, Math.min(decimals, MINOR_DECIMALS)).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Converts base units of a token with `decimals` to par value (18 decimals). Exact. */
export const toPar = (units: bigint, decimals: number): bigint => units * pow10(PAR_DECIMALS - decimals);

/** Converts stablecoin minor units (0.01) to par value. Exact. */
export const minorToPar = (minor: bigint): bigint => minor * pow10(PAR_DECIMALS - MINOR_DECIMALS);

/**
 * Converts par value to stablecoin minor units, rounded down, so that a merchant never reads more than was received.
 */
export const parToMinorFloor = (par: bigint): bigint => par / pow10(PAR_DECIMALS - MINOR_DECIMALS);

/**
 * Converts par value to base units of a token with `decimals`, rounded up, so that a payer's amount covers the due
 * value.
 */
export function parToUnitsCeil(par: bigint, decimals: number): bigint {
  return divideCeil(par, pow10(PAR_DECIMALS - decimals));
}

/** Returns a / b rounded up, for a ≥ 0 and b > 0. */
export function divideCeil(a: bigint, b: bigint): bigint {
  invariant(a >= 0n && b > 0n, 'divideCeil takes a dividend ≥ 0 and a divisor > 0');
  return (a + b - 1n) / b;
}
