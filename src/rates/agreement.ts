/**
 * Makes a quote of the sources' fresh rates. It needs at least two rates that agree, or one that may be used alone and
 * has not jumped.
 */
import { agreeingQuotes, formatRate, isWithin, medianRate, type Rate } from '../core/rate.ts';
import { DAY_MS } from '../lib/clock.ts';
import type { FreshQuote } from './pegs.ts';
import type { Pair } from './source.ts';

/** The rate to use with its sources, or the reason why there is none. */
type Agreement = Readonly<{ rate: Rate; sources: readonly string[] }> | Readonly<{ why: string }>;

/** Decides on one pair. `fresh` must not be empty. */
type Agree = (pair: Pair, fresh: readonly FreshQuote[], nowMs: number) => Agreement;

/** Largest difference between a rate and the median with which it agrees, in millionths of the lower. */
const SPREAD_PPM_MAX = 30_000n;
/** Largest difference between a single source's rate and the last quote, in millionths of the lower. */
const JUMP_PPM_MAX = 100_000n;
/** Time for which a quote is compared with later ones. A currency may change its value while no source is in reach. */
const LAST_QUOTE_MS_MAX = DAY_MS;

/** @param singleSource currencies for which one source is enough */
export function createAgreement(singleSource: readonly string[]): Agree {
  const last = new Map<Pair, Readonly<{ rate: Rate; atMs: number }>>();

  function choose(pair: Pair, fresh: readonly FreshQuote[], steady: readonly FreshQuote[]): readonly FreshQuote[] {
    for (const quotes of [fresh, steady]) {
      const agreeing = agreeingQuotes(quotes, SPREAD_PPM_MAX);
      if (agreeing.length > 1) return agreeing;
    }
    const [only, ...others] = steady;
    const isEnough = only?.fixed || singleSource.some((currency) => pair.startsWith(`${currency}/`));
    return only && others.length === 0 && isEnough ? [only] : [];
  }

  function whyNone(pair: Pair, fresh: readonly FreshQuote[], from: Rate | null): string {
    const [only, ...others] = fresh;
    const [currency] = pair.split('/');
    if (!only || others.length > 0) {
      const said = fresh.map(({ source, rate }) => `${source} ${formatRate(rate)}`).join(', ');
      return `the sources of ${pair} differ by more than ${percent(SPREAD_PPM_MAX)} %: ${said}`;
    }
    if (from && !isWithin(only.rate, from, JUMP_PPM_MAX)) {
      return (
        `${only.source} moved ${pair} from ${formatRate(from)} to ${formatRate(only.rate)}, by more than ` +
        `${percent(JUMP_PPM_MAX)} %, and no other source agrees: check it, and add ${currency} to rates.static`
      );
    }
    return (
      `only ${only.source} quotes ${pair} now, and a rate needs two sources that agree: add ${currency} to ` +
      'rates.static, or to rates.single_source if this source is enough for it'
    );
  }

  return (pair, fresh, nowMs) => {
    const before = last.get(pair);
    const from = before && nowMs - before.atMs < LAST_QUOTE_MS_MAX ? before.rate : null;
    const steady = from ? fresh.filter(({ rate }) => isWithin(rate, from, JUMP_PPM_MAX)) : fresh;
    const used = choose(pair, fresh, steady);
    if (used.length === 0) return { why: whyNone(pair, fresh, from) };
    const rate = medianRate(used.map((quote) => quote.rate));
    last.set(pair, { rate, atMs: nowMs });
    return { rate, sources: used.map(({ source }) => source) };
  };
}

/** Converts millionths to percent. */
const percent = (ppm: bigint): number => Number(ppm) / 10_000;
