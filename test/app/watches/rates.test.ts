/** Alarms about exchange rates, by what their sources and the coins are. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchRates } from '../../../src/app/watches/rates.ts';
import type { Peg } from '../../../src/rates/pegs.ts';
import type { SourceStatus } from '../../../src/rates/rates.ts';
import { closing } from '../../support/closing.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { CALM_MS, PATIENCE_MS, type Watched, watched } from '../../support/watched.ts';

/** A source that answered, or failed so. */
const source = (name: string, fault: string | null = null): SourceStatus => ({
  source: name,
  ageS: 0,
  pairs: 1,
  fresh: fault === null,
  fault,
});

type Shown = { sources: readonly SourceStatus[]; pegs: readonly Peg[] };

/** Runs with a watch of what `shown` holds. */
const watching = (title: string, play: (shown: Shown, bench: Watched) => Promise<void>) =>
  test(title, async () => {
    const { database } = closing(openTempDatabase());
    const shown: Shown = { sources: [source('kraken'), source('coinbase')], pegs: [] };
    const watch = watchRates({ status: () => shown.sources, pegs: () => shown.pegs });
    await play(shown, watched(watch, database, handClock()));
  });

watching('no source, then only one, are alarms after a while; two end them', async (shown, bench) => {
  shown.sources = [source('kraken', 'HTTP 503'), source('coinbase', 'no answer')];
  assert.equal(await bench.look(), []);
  assert.equal(await bench.after(PATIENCE_MS), ['rates_stale']);
  const message = async () => (await bench.open())[0]?.message ?? '';
  assert.match(await message(), 'no source of rates is fresh: kraken (HTTP 503); coinbase (no answer)');
  shown.sources = [source('kraken'), source('coinbase', 'no answer')];
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS), ['rates_single_source']);
  assert.match(await message(), 'only kraken has fresh rates: coinbase (no answer)');
  shown.sources = [source('kraken'), source('coinbase')];
  await bench.look();
  assert.equal(await bench.after(CALM_MS), []);
});

watching('a coin that lost its peg is an alarm at once, which ends by itself when it is back', async (shown, bench) => {
  shown.pegs = [{ currency: 'USDT', price: '0.95000', isOff: true, sources: ['kraken', 'coinbase'] }];
  assert.equal(await bench.look(), ['coin_depegged']);
  const [alarm] = await bench.open();
  assert.is(alarm?.key, 'coin:USDT');
  assert.match(
    alarm?.message ?? '',
    /^USDT is worth 0\.95000 USD \(kraken, coinbase\)\. It is not offered to sessions/,
  );
  shown.pegs = [{ currency: 'USDT', price: '0.99900', isOff: false, sources: ['kraken', 'coinbase'] }];
  await bench.look();
  assert.equal(await bench.after(CALM_MS), []);
});

watching('rates that a person chose need no source', async (shown, bench) => {
  shown.sources = [source('static')];
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS), []);
});

test.run();
