/**
 * Makes, proves and sends one backup, and ends. The supervisor starts it every night.
 *
 * It is a process of its own, of low priority: copying and checking a large database must not slow payments, and its
 * memory is given back at the end. A stop ends it at once; the next one removes what it left. Exit codes: 0 done; 1 it
 * failed, as the log and the alarm say; 2 the configuration or the database does not allow a start.
 */
import '../src/lib/runtime.ts';
import { setPriority } from 'node:os';
import { runScheduledBackup } from '../src/app/backup/scheduled.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { loadConfig } from '../src/config/config.ts';
import { Fault } from '../src/core/fault.ts';
import { systemClock } from '../src/lib/clock.ts';
import { openLog } from '../src/lib/log.ts';

const EXIT_FAILED = 1;
const EXIT_CANNOT_START = 2;
/** Of 19, which is the lowest. */
const NICENESS = 10;
/** Whatever hangs so long never ends. */
const MS_MAX = 12 * 3_600_000;

/** A dead supervisor's backup would go on beside that of the next one. */
const endAtOnce = (): void => void process.kill(process.pid, 'SIGTERM');
process.on('disconnect', endAtOnce);
AbortSignal.timeout(MS_MAX).addEventListener('abort', endAtOnce);
let log = openLog('backup', 'info');
try {
  setPriority(NICENESS);
  const { env } = process;
  const config = loadConfig({ env, cwd: process.cwd() });
  log = openLog('backup', config.logLevel);
  const database = openDatabase(config, env);
  try {
    const act = { atMs: systemClock.nowMs(), operator: 'schedule', command: 'backup', reason: 'nightly' };
    const parts = { config, audit: database.audit, env, act, clock: systemClock, log };
    const { file, bytes, deleted, isSent } = await runScheduledBackup(parts);
    log.info({ file, bytes, deleted, isSent }, 'the backup was made and proved');
  } finally {
    database.close();
  }
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.error({ code: error.code }, error.message);
  process.exitCode = error.code === 'config_invalid' ? EXIT_CANNOT_START : EXIT_FAILED;
} finally {
  // The listener for the supervisor would keep this process alive.
  process.off('disconnect', endAtOnce);
}
