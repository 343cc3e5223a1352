/**
 * Live exchange rates: every source is asked independently on a schedule, its last good answer is kept until it is too
 * old, and a quote is the median of the fresh ones that agree.
 */
import { createTask } from 'node-cron';
import { Fault, invariant, transient } from '../core/fault.ts';
import { formatRate, type Rate } from '../core/rate.ts';
import type { Currency } from '../core/transfer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type AgreementRules, createAgreement } from './agreement.ts';
import { createPegs, type FreshQuote, type Peg, type PegBounds } from './pegs.ts';
import { type Pair, pairOf, type RateSource } from './source.ts';

/**
 * - `rate`: decimal text, `target` per one unit of the currency, to be shown and locked; `sources` are those used.
 * - `unsupported`: no configured source quotes this currency.
 * - `unavailable`: a source quotes it, or may, but none is fresh now or they do not agree; `why` is for the operator.
 */
export type Quote =
  | Readonly<{ kind: 'rate'; rate: string; sources: readonly string[] }>
  | Readonly<{ kind: 'unsupported' }>
  | Readonly<{ kind: 'unavailable'; why: string }>;

/** `ageS`: of the newest rate, null before the first. `fresh`: it is usable. `fault`: of the last refresh, or null. */
export type SourceStatus = Readonly<{
  source: string;
  answeredAtMs: number | null;
  ageS: number | null;
  fresh: boolean;
  pairs: number;
  fault: string | null;
}>;

export type Rates = Readonly<{
  /** Starts the schedule and refreshes at once; see `refresh`. */
  start(): Promise<void>;
  /** Asks every source now. Resolves when each has answered or failed; no caller needs to wait for it. */
  refresh(): Promise<void>;
  /** Stops the schedule and ends running requests. */
  stop(): Promise<void>;
  /** Returns the current rate. Not for USD, USDT and USDC, which are at par. */
  quote(currency: string, target: Currency): Quote;
  /** Returns what each stablecoin is worth, and whether it may be offered to sessions in another currency. */
  pegs(): readonly Peg[];
  status(): readonly SourceStatus[];
}>;

export type RatesSetup = Readonly<{
  sources: readonly RateSource[];
  /** node-cron expression, with or without seconds, in UTC. */
  refresh: string;
  /** Largest usable age of a rate in seconds, by source name. */
  ageSMax: Readonly<Record<string, number>>;
  clock: Clock;
  log: Log;
}> &
  AgreementRules &
  PegBounds;

/** How rates are asked for and judged, in every installation. */
export const usualRates: Pick<
  RatesSetup,
  'refresh' | 'ageSMax' | 'spreadPpmMax' | 'jumpPpmMax' | 'pegPpmMin' | 'pegPpmMax'
> = {
  refresh: '*/1 * * * *',
  // The ECB publishes on working days; five days cover its longest holidays. A table never grows old.
  ageSMax: { kraken: 300, binance: 300, coinbase: 300, ecb: 432_000, static: 315_360_000 },
  spreadPpmMax: 30_000n,
  jumpPpmMax: 100_000n,
  pegPpmMin: 980_000n,
  pegPpmMax: 1_020_000n,
};

/** The state of one source. */
type SourceState = {
  readonly source: RateSource;
  readonly ageMsMax: number;
  /** The last good rate of each pair. A pair that later answers omit grows old here. */
  readonly held: Map<Pair, Readonly<{ rate: Rate; asOfMs: number }>>;
  answeredAtMs: number | null;
  fault: string | null;
  /** The running request, if any. */
  asking: Promise<void> | null;
};

/** Creates the rates of these sources; nothing is asked before `start`. */
export function createRates(setup: RatesSetup): Rates {
  const { sources, refresh, ageSMax, clock, log } = setup;
  const states = sources.map((source): SourceState => {
    const ageS = ageSMax[source.name];
    invariant(ageS !== undefined, 'each source has an age up to which its rates are usable');
    return { source, ageMsMax: ageS * 1000, held: new Map(), answeredAtMs: null, fault: null, asking: null };
  });
  const stopping = new AbortController();
  const agree = createAgreement(setup);
  const pegsOf = createPegs(setup);
  const freshOf = (pair: Pair): FreshQuote[] => freshQuotes(states, pair, clock.nowMs());
  const readPegs = (): Peg[] => pegsOf(freshOf);

  function quotePair(pair: Pair): Quote | null {
    const fresh = freshOf(pair);
    if (fresh.length === 0) return null;
    const agreed = agree(pair, fresh, clock.nowMs());
    if ('why' in agreed) return { kind: 'unavailable', why: agreed.why };
    return { kind: 'rate', rate: formatRate(agreed.rate), sources: agreed.sources };
  }

  async function ask(state: SourceState): Promise<void> {
    const askedAtMs = clock.nowMs();
    let fault: string | null = null;
    try {
      const { quotes, asOfMs } = await state.source.fetch(stopping.signal);
      if (quotes.size === 0) throw transient('rate_source_malformed', `${state.source.name} answered without any rate`);
      const at = Math.min(asOfMs ?? askedAtMs, askedAtMs);
      for (const [pair, rate] of quotes) state.held.set(pair, { rate, asOfMs: at });
      state.answeredAtMs = clock.nowMs();
      // Also for what nobody asks: a later rate is compared with the last one that was good.
      for (const pair of quotes.keys()) quotePair(pair);
      readPegs();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (stopping.signal.aborted) return;
      fault = error.message;
    }
    // A source that stays dead is logged once; its state is in `status`.
    if (fault !== state.fault) {
      if (fault) log.warn({ source: state.source.name, fault }, 'rate source failed');
      else log.info({ source: state.source.name }, 'rate source works again');
    }
    state.fault = fault;
  }

  async function refreshAll(): Promise<void> {
    await Promise.all(
      states.map((state) => {
        // A slow source is not asked again before it has answered.
        state.asking ??= ask(state).finally(() => {
          state.asking = null;
        });
        return state.asking;
      }),
    );
  }

  // UTC has no repeated hour, so the schedule has no gap. The next tick makes up for ticks that a busy process missed.
  const schedule = createTask(refresh, () => void refreshAll(), { timezone: 'UTC', suppressMissedWarning: true });

  return {
    async start() {
      await schedule.start();
      await refreshAll();
    },
    refresh: refreshAll,
    async stop() {
      stopping.abort();
      await schedule.destroy();
      await Promise.all(states.map((state) => state.asking));
    },
    quote: (currency, target) =>
      quotePair(pairOf(currency, target)) ?? whyNoQuote(states, currency, target, clock.nowMs()),
    pegs: readPegs,
    status: () => states.map((state) => statusOf(state, clock.nowMs())),
  };
}

function freshQuotes(states: readonly SourceState[], pair: Pair, nowMs: number): FreshQuote[] {
  return states.flatMap(({ source, held, ageMsMax }) => {
    const last = held.get(pair);
    if (!last || nowMs - last.asOfMs > ageMsMax) return [];
    return [{ source: source.name, rate: last.rate, fixed: source.fixed ?? false }];
  });
}

/** Says of a pair without a fresh rate whether it may have one later. */
function whyNoQuote(states: readonly SourceState[], currency: string, target: Currency, nowMs: number): Quote {
  const pair = pairOf(currency, target);
  // A source that has not answered yet may still quote the currency; one that answered without it does not.
  const candidates = states.filter(
    ({ source, held, answeredAtMs }) => held.has(pair) || (answeredAtMs === null && source.currencies.has(currency)),
  );
  if (candidates.length === 0) return { kind: 'unsupported' };
  return { kind: 'unavailable', why: candidates.map((state) => whyStale(state, pair, nowMs)).join('; ') };
}

function whyStale({ source, held, ageMsMax, fault }: SourceState, pair: Pair, nowMs: number): string {
  const last = held.get(pair);
  const when = last
    ? `quoted ${pair} ${Math.floor((nowMs - last.asOfMs) / 1000)} s ago, which is more than ${ageMsMax / 1000} s`
    : 'has not answered since the start';
  return `${source.name} ${when}${fault ? ` (${fault})` : ''}`;
}

function statusOf({ source, ageMsMax, held, answeredAtMs, fault }: SourceState, nowMs: number): SourceStatus {
  const newestMs = [...held.values()].reduce(
    (newest, { asOfMs }) => Math.max(newest, asOfMs),
    Number.NEGATIVE_INFINITY,
  );
  const ageMs = held.size > 0 ? nowMs - newestMs : null;
  return {
    source: source.name,
    answeredAtMs,
    ageS: ageMs === null ? null : Math.max(0, Math.floor(ageMs / 1000)),
    fresh: ageMs !== null && ageMs <= ageMsMax,
    pairs: held.size,
    fault,
  };
}
