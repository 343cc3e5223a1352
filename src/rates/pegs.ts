/**
 * Watches the stablecoins' prices in dollars. A coin with a price out of bounds is not offered to sessions in other
 * currencies until it has recovered.
 */
import { compareRates, divideRates, formatRate, invertRate, medianRate, type Rate } from '../core/rate.ts';
import { type Currency, currencies as stablecoins } from '../core/transfer.ts';
import { type Pair, pairOf } from './source.ts';

/**
 * A coin's price in dollars, as decimal text; null while no source shows it. `isOff`: out of bounds, so not offered.
 */
export type Peg = Readonly<{ currency: Currency; price: string | null; isOff: boolean; sources: readonly string[] }>;

/** A source's fresh rate of a pair. `fixed`: a person chose it. */
export type FreshQuote = Readonly<{ source: string; rate: Rate; fixed: boolean }>;

/** One dollar, in millionths of a dollar. */
const PAR_PPM = 1_000_000n;
/** Lowest price at which a coin is offered, in millionths of a dollar. */
const PPM_MIN = 980_000n;
/** Highest price at which a coin is offered. */
const PPM_MAX = 1_020_000n;

/**
 * Creates the function that reads the coins' prices. A coin is out of bounds if most of the sources say so, and at
 * least two, unless a person chose the rate. With less evidence a coin stays as it was.
 */
export function createPegs(): (freshOf: (pair: Pair) => FreshQuote[]) => Peg[] {
  const off = new Set<Currency>();

  /** Returns whether a price is out of bounds. A coin that was off must first be halfway back to a dollar. */
  function isOutside(price: Rate, wasOff: boolean): boolean {
    const [min, max] = wasOff ? [(PPM_MIN + PAR_PPM) / 2n, (PPM_MAX + PAR_PPM) / 2n] : [PPM_MIN, PPM_MAX];
    return compareRates(price, { num: min, den: PAR_PPM }) < 0 || compareRates(price, { num: max, den: PAR_PPM }) > 0;
  }

  return (freshOf) => {
    const known = new Map<Currency, Rate>();
    return stablecoins.map((currency): Peg => {
      const prices = freshOf(pairOf('USD', currency)).map((quote) => ({ ...quote, rate: invertRate(quote.rate) }));
      for (const [other, price] of known) {
        // The coin's price follows from its price in another coin whose own price is known.
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
