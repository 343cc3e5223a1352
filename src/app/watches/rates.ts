/** Watches the sources of exchange rates, and the prices of the stablecoins. */
import type { Rates } from '../../rates/rates.ts';
import type { Finding, Watch } from './watchdog.ts';

/** The source of rates that a person chose, which need no other source. */
const CHOSEN = 'static';

export function watchRates(rates: Pick<Rates, 'status' | 'pegs'>): Watch {
  function sources(): Finding | null {
    const all = rates.status();
    if (all.length === 0 || all.some(({ source }) => source === CHOSEN)) return null;
    const fresh = all.filter((one) => one.fresh).map(({ source }) => source);
    if (fresh.length > 1) return null;
    const failing = all.filter(({ fault }) => fault !== null).map(({ source, fault }) => `${source} (${fault})`);
    const why = failing.length > 0 ? `: ${failing.join('; ')}` : '';
    if (fresh.length === 0) return { rule: 'rates_stale', message: `no source of rates is fresh${why}` };
    return { rule: 'rates_single_source', message: `only ${fresh[0]} has fresh rates${why}` };
  }

  return {
    what: 'the exchange rates',
    rules: ['rates_stale', 'rates_single_source', 'coin_depegged'],
    async look() {
      const off = rates
        .pegs()
        .filter(({ isOff }) => isOff)
        .map(({ currency, price, sources: by }): Finding => {
          const worth = price === null ? 'was last out of bounds, and no source shows it now' : `is worth ${price} USD`;
          const shown = by.length > 0 ? ` (${by.join(', ')})` : '';
          return { rule: 'coin_depegged', subject: currency, message: `${currency} ${worth}${shown}` };
        });
      const trouble = sources();
      return trouble ? [...off, trouble] : off;
    },
  };
}
