/**
 * Decimals of currencies' minor units: 2 for EUR (1 = 0.01), 0 for JPY, 3 for KWD.
 *
 * `config/currencies.json` has every code of ISO 4217's list one (published 2026-01-01) that has a minor unit. `Intl`
 * is no substitute, because it follows the usual spelling of prices, and differs from ISO for HUF, IDR, IQD and others.
 */
import { MINOR_DECIMALS, shownUnits } from '../core/money.ts';
import { currencies as stablecoins } from '../core/transfer.ts';
import { readShipped } from '../lib/installation.ts';

const table = readShipped<Record<string, number>>('config/currencies.json');

/** ISO 4217 codes, upper case. */
export const isoCodes: readonly string[] = Object.keys(table);

const exponents: ReadonlyMap<string, number> = new Map([
  ...Object.entries(table),
  ...stablecoins.map((code) => [code, MINOR_DECIMALS] as const),
]);

/**
 * Decimals of a currency's minor unit, for ISO 4217 codes, USDT and USDC.
 * @returns null for any other text, including lower-case codes
 */
export const exponentOf = (code: string): number | null => exponents.get(code) ?? null;

/** Formats an amount in a currency's minor units for people: "1,234.50 USD". */
export function priceText(minor: bigint, currency: string): string {
  const exponent = exponentOf(currency) ?? 0;
  return `${shownUnits(minor, exponent)} ${currency}`;
}
