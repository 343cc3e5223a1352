/**
 * Kraken's spot tickers. One request gets every market, because a request that names a delisted market is refused.
 *
 * Format: docs.kraken.com/api-reference/market-data/get-ticker-information. Errors come with HTTP 200 in `error`.
 */
import * as z from 'zod';
import { invertRate, meanRate, type Rate } from '../core/rate.ts';
import { currencies as stablecoins } from '../core/transfer.ts';
import { getJson, type HttpLimits } from './http.ts';
import { check, LIVE_AGE_S_MAX, malformed, type Pair, pairOf, type RateSource, readPrice } from './source.ts';

const NAME = 'kraken';
const limits: HttpLimits = { origin: 'https://api.kraken.com', timeoutMs: 10_000, bytesMax: 4 << 20 };

/** Fiat in which Kraken trades stablecoins, in markets named `USDTEUR`. */
const fiat = ['AUD', 'CAD', 'CHF', 'EUR', 'GBP', 'JPY'];
/** The dollar, in which stablecoins have their prices. Older markets have an older name for it: `USDTZUSD`. */
const dollar = ['USD', 'ZUSD'];

const answerShape = z.object({ error: z.array(z.string()), result: z.record(z.string(), z.unknown()).optional() });
const side = z.array(z.unknown()).nonempty();
/** Best ask and best bid. The price is the first element of each. */
const tickerShape = z.object({ a: side, b: side });

/** @param at another address and limits, for tests and proxies */
export function kraken(at: Partial<HttpLimits> = {}): RateSource {
  return {
    name: NAME,
    ageSMax: LIVE_AGE_S_MAX,
    currencies: new Set(fiat),
    async fetch(signal) {
      const { error, result } = await getJson(NAME, { ...limits, ...at }, '/0/public/Ticker', answerShape, signal);
      if (error.length > 0 || !result) throw malformed(NAME, 'error', `says ${JSON.stringify(error).slice(0, 160)}`);
      const quotes = new Map<Pair, Rate>();
      for (const target of stablecoins) {
        for (const code of [...fiat, ...dollar]) {
          const market = `${target}${code}`;
          if (result[market] === undefined) continue;
          const { a, b } = check(NAME, tickerShape, result[market], ['result', market]);
          const ask = readPrice(NAME, `result.${market}.a[0]`, a[0]);
          const bid = readPrice(NAME, `result.${market}.b[0]`, b[0]);
          // The middle of ask and bid is current, while the last trade of a quiet market may be hours old.
          const currency = dollar.includes(code) ? 'USD' : code;
          if (ask && bid) quotes.set(pairOf(currency, target), invertRate(meanRate(ask, bid)));
        }
      }
      return { quotes, asOfMs: null };
    },
  };
}
