/**
 * Watches whether certificates are made at night: the program that makes them may fail before it can report it.
 * @module
 */
import type { Config } from '../../config/config.ts';
import { Fault } from '../../core/fault.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { openArchive } from '../../evidence/archive.ts';
import type { Finding, Watch } from './watchdog.ts';

/** Two nights, and an hour for the second to finish. */
const AGE_MS_MAX = 49 * 3_600_000;
/** Files are read this often; in between, what was read last counts. */
const READ_MS = 600_000;

export function watchEvidence({
  dataDir,
  networks,
  evidence,
}: Pick<Config, 'dataDir' | 'networks' | 'evidence'>): Watch {
  const { nightly, except } = evidence;
  const due =
    nightly === null ? [] : networks.filter(({ key, name }) => !except.includes(key) && !except.includes(name));
  let sinceMs: number | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let found: readonly Finding[] = [];

  function judge(key: NetworkKey, nowMs: number): Finding[] {
    const stale = (message: string): Finding[] => [{ rule: 'evidence_stale', subject: key, network: key, message }];
    try {
      const newest = openArchive(dataDir, key).latest()?.certificate;
      // Without one, the first night may be yet to come.
      const madeAtMs = newest ? Date.parse(newest.made_at) : (sinceMs ?? nowMs);
      if (nowMs - madeAtMs <= AGE_MS_MAX) return [];
      return stale(
        `${key} has had no certificate for two nights${newest ? ` (the newest is of ${newest.made_at})` : ''}`,
      );
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return stale(error.message);
    }
  }

  return {
    what: 'evidence',
    scopes: ['nightly'],
    async look(nowMs) {
      sinceMs ??= nowMs;
      if (nowMs - readAtMs >= READ_MS) {
        found = due.flatMap(({ key }) => judge(key, nowMs));
        readAtMs = nowMs;
      }
      return found;
    },
  };
}
