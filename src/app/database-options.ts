/**
 * How each process of an installation opens its database.
 */
import type { Config } from '../config/config.ts';
import type { SqliteDatabaseOptions } from '../database/database.ts';
import type { WriteMeasure } from '../database/engine/write-queue.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';

/** How long a write waits for other processes' writes, which take milliseconds except on slow disks. */
const BUSY_TIMEOUT_MS = 5000;
/** How long after its deadline a session stays open because a network could not be read. */
const OUTAGE_WAIT_S = 3600;
/** A write that holds the lock for longer is logged: others wait for it. */
const HELD_MS_MAX = 500;

export type WriteHooks = Readonly<{
  /** Called after each write, with what it took. */
  onWrite?: (measure: WriteMeasure) => void;
  /** Gets a warning of each write that took long. */
  log?: Log;
}>;

/** @throws Fault: see `readSecretKey` */
export const databaseOptions = (
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  env: NodeJS.ProcessEnv,
  { onWrite, log }: WriteHooks,
): SqliteDatabaseOptions => ({
  file: databaseFile(dataDir),
  url: databaseUrl,
  secretKey: readSecretKey(dataDir, env),
  busyTimeoutMs: BUSY_TIMEOUT_MS,
  outageWaitS: OUTAGE_WAIT_S,
  onWrite(measure) {
    onWrite?.(measure);
    if (measure.heldMs <= HELD_MS_MAX) return;
    const { heldMs, rows } = measure;
    log?.warn({ heldMs: Math.round(heldMs), rows }, 'a write took long, and other processes waited for it');
  },
});
