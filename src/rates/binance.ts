/**
 * Binance's spot prices, from its host for market data only. One request gets every market, because a request that
 * names a delisted market is refused as a whole. Halted and delisted markets keep a frozen price, and are recognised by
 * their status.
 *
 * Format: binance-spot-api-docs, rest-api.md "Symbol price ticker" and faqs/market_data_only.md.
 */
import * as z from 'zod';
import { invertRate, type Rate } from '../core/rate.ts';
import { currencies as stablecoins } from '../core/transfer.ts';
import { getJson, type HttpLimits } from './http.ts';
import { LIVE_AGE_S_MAX, type Pair, pairOf, type RateSource, readPrice } from './source.ts';

const NAME = 'binance';
const limits: HttpLimits = { origin: 'https://data-api.binance.vision', timeoutMs: 10_000, bytesMax: 2 << 20 };

/**
 * Fiat traded for stablecoins, in markets named `EURUSDT`. It is a list, because some coins share a currency's code.
 */
const asBase = ['AUD', 'EUR', 'GBP'];
/** Fiat in which stablecoins are traded, in markets named `USDTBRL`. */
const asQuote = ['ARS', 'BRL', 'COP', 'CZK', 'JPY', 'MXN', 'PLN', 'RON', 'TRY', 'UAH', 'ZAR'];

type Market = Readonly<{ pair: Pair; inverted: boolean }>;
const markets: ReadonlyMap<string, Market> = new Map([
  // This market has no fiat, but with the price of one stablecoin it shows the price of the other.
  ['USDCUSDT', { pair: pairOf('USDC', 'USDT'), inverted: false }],
  ...stablecoins.flatMap((target) => [
    ...asBase.map((code): [string, Market] => [code + target, { pair: pairOf(code, target), inverted: false }]),
    ...asQuote.map((code): [string, Market] => [target + code, { pair: pairOf(code, target), inverted: true }]),
  ]),
]);

const answerShape = z.array(z.object({ symbol: z.string(), price: z.unknown() }));

/** @param at another address and limits, for tests and proxies */
export function binance(at: Partial<HttpLimits> = {}): RateSource {
  return {
    name: NAME,
    ageSMax: LIVE_AGE_S_MAX,
    currencies: new Set([...asBase, ...asQuote]),
    async fetch(signal) {
      const path = '/api/v3/ticker/price?symbolStatus=TRADING';
      const quotes = new Map<Pair, Rate>();
      for (const { symbol, price } of await getJson(NAME, { ...limits, ...at }, path, answerShape, signal)) {
        const market = markets.get(symbol);
        const rate = market && readPrice(NAME, `${symbol}.price`, price);
        if (rate) quotes.set(market.pair, market.inverted ? invertRate(rate) : rate);
      }
      return { quotes, asOfMs: null };
    },
  };
}
