/**
 * The rate sources, by their names in the configuration.
 */
import { binance } from './binance.ts';
import { coinbase } from './coinbase.ts';
import { ecb } from './ecb.ts';
import { kraken } from './kraken.ts';
import type { RateSource, SourceName } from './source.ts';
import { staticRates } from './static.ts';

type StaticTable = Readonly<Record<string, string>>;

const openers: Readonly<Record<SourceName, (table: StaticTable) => RateSource>> = {
  kraken: () => kraken(),
  binance: () => binance(),
  coinbase: () => coinbase(),
  ecb: () => ecb(),
  static: staticRates,
};

/** Opens the sources that the configuration names, in its order. */
export const openSources = (
  config: Readonly<{ sources: readonly SourceName[]; static: StaticTable }>,
): readonly RateSource[] => config.sources.map((name) => openers[name](config.static));
