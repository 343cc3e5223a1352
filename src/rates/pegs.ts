/**
 * Watches what the stablecoins are worth in dollars. A coin that is worth too little or too much is not offered to
 * sessions in other currencies until it is back.
 */
import { compareRates, divideRates, formatRate, invertRate, medianRate, type Rate } from '../core/rate.ts';
import { type Currency, currencies as stablecoins } from '../core/transfer.ts';
import { type Pair, pairOf } from './source.ts';

/** `price` in dollars, as decimal text; null while no source shows it. `isOff`: outside the bounds, so not offered. */
export type Peg = Readonly<{ currency: Currency; price: string | null; isOff: boolean; sources: readonly string[] }>;

/** A source's fresh rate of a pair. `fixed`: a person chose it. */
export type FreshQuote = Readonly<{ source: string; rate: Rate; fixed: boolean }>;

/** In millionths of a dollar. */
const PAR_PPM = 1_000_000n;
/** Outside of these bounds a coin is not offered. */
const PPM_MIN = 980_000n;
const PPM_MAX = 1_020_000n;

/**
 * Creates the function that reads what the coins are worth. Beyond the bounds is what most of the sources say, at least
 * two of them unless a person chose the rate. Less evidence changes nothing: a coin that was off stays off.
 */
export function createPegs(): (freshOf: (pair: Pair) => FreshQuote[]) => Peg[] {
  const off = new Set<Currency>();

  /** Returns whether a price is out of bounds; a coin that was off must first be halfway back to a dollar. */
  function isOutside(price: Rate, wasOff: boolean): boolean {
    const [min, max] = wasOff ? [(PPM_MIN + PAR_PPM) / 2n, (PPM_MAX + PAR_PPM) / 2n] : [PPM_MIN, PPM_MAX];
    return compareRates(price, { num: min, den: PAR_PPM }) < 0 || compareRates(price, { num: max, den: PAR_PPM }) > 0;
  }

  return (freshOf) => {
    const known = new Map<Currency, Rate>();
    return stablecoins.map((currency): Peg => {
      const prices = freshOf(pairOf('USD', currency)).map((quote) => ({ ...quote, rate: invertRate(quote.rate) }));
      for (const [other, price] of known) {
        // The coin's price in another coin, whose own price is known.
        const perOther = freshOf(pairOf(currency, other));
        prices.push(...perOther.map((quote) => ({ ...quote, rate: divideRates(quote.rate, invertRate(price)) })));
      }
      const price = prices.length > 0 ? medianRate(prices.map(({ rate }) => rate)) : null;
      if (price) known.set(currency, price);
      if (prices.length > 1 || prices.some(({ fixed }) => fixed)) {
        const outside = prices.filter(({ rate }) => isOutside(rate, off.has(currency))).length;
        if (2 * outside > prices.length) off.add(currency);
        else off.delete(currency);
      }
      const sources = prices.map(({ source }) => source);
      return { currency, price: price && formatRate(price), isOff: off.has(currency), sources };
    });
  };
}
