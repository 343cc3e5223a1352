/**
 * Opens the installation's database, in the same way in each of its processes.
 * @module
 */
import type { Config } from '../config/config.ts';
import type { TargetedAct } from '../database/audit-log.ts';
import type { Database } from '../database/database.ts';
import type { BeforeTake } from '../database/sqlite/sessions.ts';
import { openSqliteDatabase } from '../database/sqlite/sqlite-database.ts';
import type { WriteMeasure } from '../database/sqlite/write-queue.ts';
import type { Log } from '../lib/log.ts';
import { databaseFile, readSecretKey } from '../lib/secret-key.ts';
import { createAddressFormat } from '../payments/destination.ts';

/** How long a write waits for other processes' writes, which take milliseconds except on slow disks. */
const BUSY_TIMEOUT_MS = 5000;
/** A write that holds the lock for longer is logged: others wait for it. */
const HELD_MS_MAX = 500;

export type DatabaseHooks = Readonly<{
  /** Called with the addresses that a new session takes, before they are offered. */
  beforeTake?: BeforeTake;
  /** The operator's command that it is opened for. */
  act?: TargetedAct;
  /** Called after each write, with what it took. */
  onWrite?: (measure: WriteMeasure) => void;
  /** Gets a warning of each write that took long. */
  log?: Log;
}>;

/** @throws Fault permanent `schema_not_current`, `secret_key_wrong` and others: see `openSqliteDatabase` */
export function openDatabase(
  config: Config,
  env: NodeJS.ProcessEnv,
  { beforeTake, act, onWrite, log }: DatabaseHooks = {},
): Database {
  return openSqliteDatabase({
    file: databaseFile(config.dataDir),
    secretKey: readSecretKey(config.dataDir, env),
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    bytesMax: config.limits.storageBytesMax,
    outageWaitS: config.limits.outageWaitS,
    formatAddress: createAddressFormat(config),
    ...(beforeTake && { beforeTake }),
    ...(act && { act }),
    onWrite(measure) {
      onWrite?.(measure);
      if (measure.heldMs <= HELD_MS_MAX) return;
      const { heldMs, rows } = measure;
      log?.warn({ heldMs: Math.round(heldMs), rows }, 'a write took long, and other processes waited for it');
    },
  });
}
