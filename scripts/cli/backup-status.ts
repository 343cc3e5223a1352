/**
 * The part of `status` about backups: the newest, the newest that was proved, and what failed.
 */
import { readBackupReport } from '../../src/app/backup/report.ts';
import { type Installation, moment } from './command.ts';

/** Returns what `status` prints about backups; no lines where none was made and none is scheduled. */
export function backupStatus({ config }: Pick<Installation, 'config'>) {
  const { newest, proved, failure } = readBackupReport(config.dataDir);
  const { nightly } = config.backup;
  const last = proved ? `last proved ${moment(proved.proved_at_ms)} (of ${moment(proved.made_at_ms)})` : 'never proved';
  return {
    json: {
      nightly,
      newest: newest && { file: newest.file, made_at: moment(newest.made_at_ms), sent_at: moment(newest.sent_at_ms) },
      proved: proved && { made_at: moment(proved.made_at_ms), proved_at: moment(proved.proved_at_ms) },
      failure: failure?.message ?? null,
    },
    lines: [
      ...(newest ? [`backup: newest of ${moment(newest.made_at_ms)}, ${last}`] : []),
      ...(!newest && nightly ? [`backup: none yet; the next is made at ${nightly} UTC`] : []),
      ...(failure ? [`backup FAILED at ${moment(failure.at_ms)}: ${failure.message}`] : []),
    ],
  };
}
