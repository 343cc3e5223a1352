/**
 * Rates from the configuration, for installations without Internet access. They count as fresh at every refresh.
 */
import { permanent } from '../core/fault.ts';
import type { Rate } from '../core/rate.ts';
import { currencies as stablecoins } from '../core/transfer.ts';
import { exponentOf } from './currencies.ts';
import { type Pair, pairOf, plausiblePrice, type RateSource } from './source.ts';

/**
 * @param table stablecoin per one unit, as decimal text, by currency, such as `{ "EUR": "1.08" }`. It applies to USDT
 * and USDC
 * @throws Fault permanent `config_invalid`
 */
export function staticRates(table: Readonly<Record<string, string>>): RateSource {
  const quotes = new Map<Pair, Rate>();
  for (const [currency, text] of Object.entries(table)) {
    const rate = exponentOf(currency) === null ? null : plausiblePrice(text);
    if (!rate) {
      throw permanent(
        'config_invalid',
        `rates.static.${currency}: ${JSON.stringify(text)} is not an amount of stablecoin per one unit of an ISO 4217 ` +
          'currency; write for example "EUR": "1.08"',
      );
    }
    for (const target of stablecoins) quotes.set(pairOf(currency, target), rate);
  }
  return {
    name: 'static',
    ageSMax: Number.POSITIVE_INFINITY,
    currencies: new Set(Object.keys(table)),
    fixed: true,
    fetch: async () => ({ quotes, asOfMs: null }),
  };
}
