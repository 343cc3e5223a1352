/**
 * Coinbase's exchange rates, which are amounts of each currency for one stablecoin.
 *
 * Format: docs.cdp.coinbase.com/coinbase-app/track-apis/exchange-rates.
 */
import * as z from 'zod';
import { invertRate, type Rate } from '../core/rate.ts';
import { type Currency, currencies as stablecoins } from '../core/transfer.ts';
import { isoCodes } from './currencies.ts';
import { getJson, type HttpLimits } from './http.ts';
import { LIVE_AGE_S_MAX, type Pair, pairOf, type RateSource, readPrice } from './source.ts';

const NAME = 'coinbase';
const limits: HttpLimits = { origin: 'https://api.coinbase.com', timeoutMs: 10_000, bytesMax: 1 << 20 };

/**
 * Currencies' codes that are also a coin's (Ethernity, Mantle, Scroll). Coinbase has one table for both, so its answer
 * is ambiguous, and the two differ by factors of thousands. Known for ERN from ACINQ/phoenix#676.
 */
const ambiguous = ['ERN', 'MNT', 'SCR'];
const fiat = isoCodes.filter((code) => code !== 'USD' && !ambiguous.includes(code));
/** The coin with a market price in dollars. Coinbase exchanges USDC one to one at any market price. */
const priced: Currency = 'USDT';

/** @param at another address and limits, for tests and proxies */
export function coinbase(at: Partial<HttpLimits> = {}): RateSource {
  return {
    name: NAME,
    ageSMax: LIVE_AGE_S_MAX,
    currencies: new Set(fiat),
    async fetch(signal) {
      const quotes = new Map<Pair, Rate>();
      for (const target of stablecoins) {
        const shape = z.object({
          data: z.object({ currency: z.literal(target), rates: z.record(z.string(), z.unknown()) }),
        });
        const path = `/v2/exchange-rates?currency=${target}`;
        const { rates } = (await getJson(NAME, { ...limits, ...at }, path, shape, signal)).data;
        for (const currency of target === priced ? [...fiat, 'USD'] : fiat) {
          if (rates[currency] === undefined) continue;
          const price = readPrice(NAME, `data.rates.${currency} for ${target}`, rates[currency]);
          if (price) quotes.set(pairOf(currency, target), invertRate(price));
        }
      }
      return { quotes, asOfMs: null };
    },
  };
}
