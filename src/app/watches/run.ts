/** Runs all watches of an installation, each in a separate loop, so that a blocked one stops no other. */
import type { Config } from '../../config/config.ts';
import type { Database } from '../../database/database.ts';
import type { Clock } from '../../lib/clock.ts';
import { every } from '../../lib/every.ts';
import type { Log } from '../../lib/log.ts';
import type { Rates } from '../../rates/rates.ts';
import { watchDecisions } from './decisions.ts';
import { watchDisk } from './disk.ts';
import { watchNetworks } from './networks.ts';
import { watchPayouts } from './payouts.ts';
import { watchPools } from './pools.ts';
import { watchRates } from './rates.ts';
import { watchUpkeep } from './upkeep.ts';
import { createWatchdog, type Watch } from './watchdog.ts';
import { watchWebhooks } from './webhooks.ts';

const LOOK_MS = 5_000;
/** Time after the end of a trouble before its alarm ends. */
const CALM_MS_MAX = 60_000;

type WatchesOptions = Readonly<{
  database: Database;
  config: Config;
  rates: Pick<Rates, 'status' | 'pegs'>;
  clock: Clock;
  log: Log;
}>;

/** Returns every watch. */
export function watchesOf({ database, config, rates }: Pick<WatchesOptions, 'database' | 'config' | 'rates'>): Watch[] {
  const { patienceMs, diskFreeBytesMin } = config.alarms;
  return [
    watchNetworks(database, config.networks, patienceMs),
    watchPools(database.addresses, config),
    watchRates(rates),
    watchPayouts(database, config),
    watchWebhooks(database.deliveries),
    watchDecisions(database),
    watchUpkeep(database.blocks, config),
    watchDisk(config.dataDir, diskFreeBytesMin),
  ];
}

/** Watches until the signal aborts. */
export async function runWatches(options: WatchesOptions, signal: AbortSignal): Promise<void> {
  const { database, config, clock, log } = options;
  const { patienceMs } = config.alarms;
  const parts = {
    alarms: database.alarms,
    settings: { patienceMs, calmMs: Math.min(CALM_MS_MAX, patienceMs) },
    clock,
    log,
  };
  await Promise.all(
    watchesOf(options).map((watch) =>
      every(LOOK_MS, createWatchdog(watch, parts), { clock, log, signal, what: `watching ${watch.what}` }),
    ),
  );
}
