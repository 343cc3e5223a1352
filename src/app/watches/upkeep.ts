/**
 * Watches what runs while nobody looks: the nightly backup, the nightly comparison of blocks, and the copying to the
 * standby. The program for each may fail before it can report it.
 */
import type { Config } from '../../config/config.ts';
import type { Blocks } from '../../database/database.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { readBackupReport } from '../backup/report.ts';
import { readStandbyReport } from '../standby.ts';
import type { Finding, Watch } from './watchdog.ts';

/** A backup is made every night: one night may fail, and a person has a day before the next. */
const PROVED_AGE_DAYS_MAX = 2;
/** Two nights, and an hour for the second to finish. */
const COMPARISON_AGE_MS_MAX = 49 * HOUR_MS;
/** So far the standby's copy may be behind. */
const BEHIND_MS_MAX = 5 * MINUTE_MS;
/** The copy is checked every hour: one check may fail to begin. */
const CHECK_AGE_MS_MAX = 3 * HOUR_MS;

type Upkeep = Pick<Config, 'dataDir' | 'backup' | 'networks' | 'sandbox'>;
/** `sinceMs`: since when it is watched. Until it is that old, the first night may be yet to come. */
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
