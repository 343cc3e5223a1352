/**
 * Raises alarms when an imported address pool runs out. Only a person can fill it, because the seed is elsewhere.
 * @module
 */

import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { WHILE_EMPTY } from './pool-keeper.ts';
import { LOW_SHARE, networkOfEachPool, type PoolReport, readPool } from './pool-level.ts';

const POLL_MS = 5_000;

export type ImportedPoolsOptions = Readonly<{
  database: Pick<Database, 'poolLevel' | 'poolSource' | 'raiseAlarm'>;
  config: Pick<Config, 'networks'>;
  clock: Clock;
  log: Log;
}>;

/** Watches the imported pools of real networks until the signal aborts: raises alarms when one is low or empty. */
export async function watchImportedPools(options: ImportedPoolsOptions, signal: AbortSignal): Promise<void> {
  const { database, config, clock, log } = options;
  const imported = networkOfEachPool(config.networks).filter(({ xpub, sandbox }) => xpub === null && !sandbox);
  /** The last reported trouble of each pool. */
  const reported = new Map<string, string | null>();
  const look = async (): Promise<void> => {
    for (const network of imported) {
      const report = await readPool(database, network);
      const code = trouble(report);
      if (code !== null && reported.get(network.key) !== code) {
        const message = advice(report);
        log.warn({ code, family: network.family, mode: network.mode, free: report.free }, message);
        await database.raiseAlarm({ atMs: clock.nowMs(), code, message, network: network.key, sessionId: null });
      }
      reported.set(network.key, code);
    }
  };
  if (imported.length > 0) await every(POLL_MS, look, { clock, log, signal, what: 'watching imported address pools' });
}

function trouble({ free, isLow }: PoolReport): string | null {
  if (free === 0) return 'address_pool_empty';
  return isLow ? 'address_pool_low' : null;
}

function advice({ family, mode, free, nextIndex }: PoolReport): string {
  const level =
    free === 0
      ? `is empty (${nextIndex} addresses were imported so far): ${WHILE_EMPTY}`
      : `has ${free} of ${nextIndex} addresses left (${LOW_SHARE * 100} % or less)`;
  return (
    `The ${mode} ${family} address pool ${level}. Make more where the seed is with ` +
    `\`quayside address-pool derive --from ${nextIndex}\`, and import them with \`quayside address-pool import\`.`
  );
}
