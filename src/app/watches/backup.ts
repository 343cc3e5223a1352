/**
 * Watches whether backups are made and proved: the program that makes them may fail before it can report it.
 */
import type { Config } from '../../config/config.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { readBackupReport } from '../backup/report.ts';
import type { Finding, Watch } from './watchdog.ts';

/** A backup is made every night: one night may fail, and a person has a day before the next. */
export const PROVED_AGE_DAYS_MAX = 2;
/** The file is read this often. */
const READ_MS = 60_000;

export function watchBackup({ dataDir, backup }: Pick<Config, 'dataDir' | 'backup'>): Watch {
  let sinceMs: number | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let found: readonly Finding[] = [];

  function judge(nowMs: number): Finding[] {
    const { proved, failure } = readBackupReport(dataDir);
    // Without one, the first night may be yet to come.
    const provedMs = proved?.made_at_ms ?? sinceMs ?? nowMs;
    const last = proved
      ? `the newest that was proved is of ${new Date(proved.made_at_ms).toISOString()}`
      : 'none was proved';
    const message = failure
      ? `the last backup failed: ${failure.message}; ${last}`
      : nowMs - provedMs > PROVED_AGE_DAYS_MAX * DAY_MS &&
        `no backup was made and proved for ${PROVED_AGE_DAYS_MAX} days: ${last}`;
    return message ? [{ rule: 'backup_unproved', subject: '', network: null, message }] : [];
  }

  return {
    what: 'backups',
    scopes: ['backup'],
    async look(nowMs) {
      sinceMs ??= nowMs;
      if (backup.nightly !== null && nowMs - readAtMs >= READ_MS) {
        found = judge(nowMs);
        readAtMs = nowMs;
      }
      return found;
    },
  };
}
