/**
 * Watches unattended work: the nightly backup, the nightly comparison of blocks, and the copy of the standby. The
 * program of each may fail before it can report that.
 */
import type { Config } from '../../config/config.ts';
import type { Blocks } from '../../database/database.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { readBackupReport } from '../backup/report.ts';
import { readStandbyReport } from '../standby.ts';
import type { Finding, Watch } from './watchdog.ts';

/** Largest age of a proved backup. One is made every night, of which one may fail. */
const PROVED_AGE_DAYS_MAX = 2;
/** Largest age of a comparison: two nights, and an hour for the second to finish. */
const COMPARISON_AGE_MS_MAX = 49 * HOUR_MS;
/** Largest lag of the standby's copy. */
const BEHIND_MS_MAX = 5 * MINUTE_MS;
/** Largest age of a check of the copy. One is made every hour, of which one may fail to begin. */
const CHECK_AGE_MS_MAX = 3 * HOUR_MS;

type Upkeep = Pick<Config, 'dataDir' | 'backup' | 'networks' | 'sandbox'>;
/** A look. `sinceMs`: start of the watch, before which there may have been no night. */
type Moment = Readonly<{ nowMs: number; sinceMs: number }>;

export function watchUpkeep(blocks: Blocks, config: Upkeep): Watch {
  let sinceMs: number | null = null;
  return {
    what: 'backups and nightly work',
    rules: ['backup_unproved', 'comparison_stale', 'standby_behind'],
    async look(nowMs) {
      sinceMs ??= nowMs;
      const moment = { nowMs, sinceMs };
      const backup = config.backup.nightly === null ? null : backupTrouble(config.dataDir, moment);
      const standby = config.backup.standby === null ? null : standbyTrouble(config.dataDir, moment);
      return [
        ...(backup === null ? [] : [{ rule: 'backup_unproved', message: backup } as const]),
        ...(standby === null ? [] : [{ rule: 'standby_behind', message: standby } as const]),
        ...(config.sandbox ? [] : await comparisonTroubles(blocks, config, moment)),
      ];
    },
  };
}

function backupTrouble(dataDir: string, { nowMs, sinceMs }: Moment): string | null {
  const { newest, failure } = readBackupReport(dataDir);
  const last = newest ? `The newest is of ${new Date(newest.made_at_ms).toISOString()}` : 'No earlier one is proved';
  if (failure) return `the last backup failed: ${failure.message}. ${last}`;
  return nowMs - (newest?.made_at_ms ?? sinceMs) > PROVED_AGE_DAYS_MAX * DAY_MS
    ? `no backup was made and proved for ${PROVED_AGE_DAYS_MAX} days. ${last}`
    : null;
}

function standbyTrouble(dataDir: string, { nowMs, sinceMs }: Moment): string | null {
  const report = readStandbyReport(dataDir);
  if (nowMs - (report?.checked_at_ms ?? sinceMs) > CHECK_AGE_MS_MAX)
    return 'the standby’s copy was not checked for three hours';
  if (report === null) return null;
  const { behind_ms: behindMs, problems } = report;
  if (problems.length > 0) return `the standby’s copy cannot be used: ${problems.join('; ')}`;
  return behindMs !== null && behindMs > BEHIND_MS_MAX
    ? `the standby’s copy is ${Math.round(behindMs / MINUTE_MS)} min behind`
    : null;
}

async function comparisonTroubles(
  blocks: Blocks,
  { networks }: Upkeep,
  { nowMs, sinceMs }: Moment,
): Promise<readonly Finding[]> {
  const compared = new Map((await blocks.listComparisons()).map((one) => [one.network, one.comparedAtMs]));
  return networks.flatMap(({ key }) => {
    const atMs = compared.get(key);
    if (nowMs - (atMs ?? sinceMs) <= COMPARISON_AGE_MS_MAX) return [];
    const last = atMs === undefined ? 'never' : `last on ${new Date(atMs).toISOString()}`;
    const message = `final blocks of ${key} were not compared with the database for two nights (${last})`;
    return [{ rule: 'comparison_stale', subject: key, network: key, message }];
  });
}
