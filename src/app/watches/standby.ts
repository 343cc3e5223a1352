/** Watches the standby's copy of the database: what copies it may have stopped without a word. */
import type { Config } from '../../config/config.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { readStandbyReport } from '../standby.ts';
import type { Watch } from './watchdog.ts';

/** So far the copy may be behind. */
export const BEHIND_MS_MAX = 5 * MINUTE_MS;
/** The copy is checked every hour: one check may fail to begin. */
const CHECK_AGE_MS_MAX = 3 * HOUR_MS;

export function watchStandby({ dataDir, backup }: Pick<Config, 'dataDir' | 'backup'>): Watch {
  let sinceMs: number | null = null;

  function troubleAt(nowMs: number): string | null {
    const report = readStandbyReport(dataDir);
    if (nowMs - (report?.checked_at_ms ?? sinceMs ?? nowMs) > CHECK_AGE_MS_MAX)
      return 'the standby’s copy was not checked for three hours';
    if (report === null) return null;
    const { behind_ms: behindMs, problems } = report;
    if (problems.length > 0) return `the standby’s copy cannot be used: ${problems.join('; ')}`;
    return behindMs !== null && behindMs > BEHIND_MS_MAX
      ? `the standby’s copy is ${Math.round(behindMs / MINUTE_MS)} min behind`
      : null;
  }

  return {
    what: 'the standby',
    scopes: ['standby'],
    async look(nowMs) {
      sinceMs ??= nowMs;
      const message = backup.standby === null ? null : troubleAt(nowMs);
      return message === null ? [] : [{ rule: 'standby_behind', subject: '', network: null, message }];
    },
  };
}
