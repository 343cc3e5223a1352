/**
 * The rate sources, by their names in the configuration.
 * @module
 */
import { permanent } from '../core/fault.ts';
import { binance } from './binance.ts';
import { coinbase } from './coinbase.ts';
import { ecb } from './ecb.ts';
import { kraken } from './kraken.ts';
import type { RateSource } from './source.ts';
import { staticRates } from './static.ts';

type StaticTable = Readonly<Record<string, string>>;

const openers: ReadonlyMap<string, (table: StaticTable) => RateSource> = new Map([
  ['kraken', () => kraken()],
  ['binance', () => binance()],
  ['coinbase', () => coinbase()],
  ['ecb', () => ecb()],
  ['static', staticRates],
]);

/** Every name allowed in `rates.sources`. */
export const sourceNames: readonly string[] = [...openers.keys()];

/**
 * Opens the sources that the configuration names, in its order.
 * @throws Fault permanent `config_invalid`
 */
export function openSources(config: Readonly<{ sources: readonly string[]; static: StaticTable }>): RateSource[] {
  return config.sources.map((name) => {
    const open = openers.get(name);
    if (open) return open(config.static);
    throw permanent('config_invalid', `rates.sources: there is no "${name}"; known are ${sourceNames.join(', ')}`);
  });
}
