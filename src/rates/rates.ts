/**
 * Live exchange rates. Each source's last good answer is kept until it is too old. A quote is the median of the fresh
 * ones that agree.
 */
import { Fault, transient } from '../core/fault.ts';
import { formatRate, type Rate } from '../core/rate.ts';
import type { Currency } from '../core/transfer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createAgreement } from './agreement.ts';
import { createPegs, type FreshQuote, type Peg } from './pegs.ts';
import { type Pair, pairOf, type RateSource } from './source.ts';

/**
 * - `rate`: decimal text to show and lock, `target` per one unit of the currency. `sources` are those used.
 * - `unsupported`: no configured source quotes this currency.
 * - `unavailable`: a source quotes it, or may, but none is fresh now or they do not agree. `why` is for the operator.
 */
export type Quote =
  | Readonly<{ kind: 'rate'; rate: string; sources: readonly string[] }>
  | Readonly<{ kind: 'unsupported' }>
  | Readonly<{ kind: 'unavailable'; why: string }>;

/**
 * A source's status. `ageS`: age of the newest rate, null before the first. `fresh`: it is usable. `fault`: of the last
 * refresh, or null.
 */
export type SourceStatus = Readonly<{
  source: string;
  ageS: number | null;
  fresh: boolean;
  pairs: number;
  fault: string | null;
}>;

export type Rates = Readonly<{
  /** Asks every source. Resolves when each has answered or failed, or the signal has aborted. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Returns the current rate of a currency other than USD, USDT and USDC, which are at par. */
  quote(currency: string, target: Currency): Quote;
  /** Returns each stablecoin's price, and whether it may be offered to sessions in another currency. */
  pegs(): readonly Peg[];
  status(): readonly SourceStatus[];
}>;

type RatesSetup = Readonly<{
  sources: readonly RateSource[];
  /** Currencies for which one source is enough. */
  singleSource: readonly string[];
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/** The state of one source. */
type SourceState = {
  readonly source: RateSource;
  /** The last good rate of each pair. A pair that later answers omit grows old here. */
  readonly held: Map<Pair, Readonly<{ rate: Rate; asOfMs: number }>>;
  hasAnswered: boolean;
  /** The fault of the last refresh, or null. */
  fault: string | null;
};

/** Creates the rates of these sources. None is asked before `refresh`. */
export function createRates({ sources, singleSource, clock, log }: RatesSetup): Rates {
  const states = sources.map((source): SourceState => ({ source, held: new Map(), hasAnswered: false, fault: null }));
  const agree = createAgreement(singleSource);
  const pegsOf = createPegs();
  const freshOf = (pair: Pair): FreshQuote[] => freshQuotes(states, pair, clock.nowMs());
  const readPegs = (): Peg[] => pegsOf(freshOf);

  function quotePair(pair: Pair): Quote | null {
    const fresh = freshOf(pair);
    if (fresh.length === 0) return null;
    const agreed = agree(pair, fresh, clock.nowMs());
    if ('why' in agreed) return { kind: 'unavailable', why: agreed.why };
    return { kind: 'rate', rate: formatRate(agreed.rate), sources: agreed.sources };
  }

  async function ask(state: SourceState, signal: AbortSignal): Promise<void> {
    const askedAtMs = clock.nowMs();
    let fault: string | null = null;
    try {
      const { quotes, asOfMs } = await state.source.fetch(signal);
      if (quotes.size === 0) throw transient('rate_source_malformed', `${state.source.name} answered without any rate`);
      const at = Math.min(asOfMs ?? askedAtMs, askedAtMs);
      for (const [pair, rate] of quotes) state.held.set(pair, { rate, asOfMs: at });
      state.hasAnswered = true;
      // Each pair is quoted even if nobody asks for it, because a later rate is compared with the last good one.
      for (const pair of quotes.keys()) quotePair(pair);
      readPegs();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (signal.aborted) return;
      fault = error.message;
    }
    // A source that stays dead is logged only once. Its state is in `status`.
    if (fault !== state.fault) {
      if (fault) log.warn({ source: state.source.name, fault }, 'rate source failed');
      else log.info({ source: state.source.name }, 'rate source works again');
    }
    state.fault = fault;
  }

  return {
    async refresh(signal) {
      await Promise.all(states.map((state) => ask(state, signal)));
    },
    quote: (currency, target) =>
      quotePair(pairOf(currency, target)) ?? whyNoQuote(states, currency, target, clock.nowMs()),
    pegs: readPegs,
    status: () => states.map((state) => statusOf(state, clock.nowMs())),
  };
}

function freshQuotes(states: readonly SourceState[], pair: Pair, nowMs: number): FreshQuote[] {
  return states.flatMap(({ source, held }) => {
    const last = held.get(pair);
    if (!last || nowMs - last.asOfMs > source.ageSMax * 1000) return [];
    return [{ source: source.name, rate: last.rate, fixed: source.fixed ?? false }];
  });
}

/** Returns the quote of a pair without a fresh rate, which says whether it may have one later. */
function whyNoQuote(states: readonly SourceState[], currency: string, target: Currency, nowMs: number): Quote {
  const pair = pairOf(currency, target);
  // A source that has not answered yet may still quote the currency. One that answered without it does not.
  const candidates = states.filter(
    ({ source, held, hasAnswered }) => held.has(pair) || (!hasAnswered && source.currencies.has(currency)),
  );
  if (candidates.length === 0) return { kind: 'unsupported' };
  return { kind: 'unavailable', why: candidates.map((state) => whyStale(state, pair, nowMs)).join('; ') };
}

function whyStale({ source, held, fault }: SourceState, pair: Pair, nowMs: number): string {
  const last = held.get(pair);
  const when = last
    ? `quoted ${pair} ${Math.floor((nowMs - last.asOfMs) / 1000)} s ago, which is more than ${source.ageSMax} s`
    : 'has not answered since the start';
  return `${source.name} ${when}${fault ? ` (${fault})` : ''}`;
}

function statusOf({ source, held, fault }: SourceState, nowMs: number): SourceStatus {
  const newestMs = [...held.values()].reduce(
    (newest, { asOfMs }) => Math.max(newest, asOfMs),
    Number.NEGATIVE_INFINITY,
  );
  const ageMs = held.size > 0 ? nowMs - newestMs : null;
  return {
    source: source.name,
    ageS: ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1000)),
    fresh: ageMs !== null && ageMs <= source.ageSMax * 1000,
    pairs: held.size,
    fault,
  };
}
