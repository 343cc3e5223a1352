/**
 * Makes, proves and sends one backup, and ends. The supervisor starts it every night. A stop ends it at once; the next
 * one removes what it left.
 */
import '../src/lib/runtime.ts';
import { runScheduledBackup } from '../src/app/backup/scheduled.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { systemClock } from '../src/lib/clock.ts';

await runProgram(
  'backup',
  async ({ config, log, signal }) => {
    // A dead supervisor's backup would go on beside that of the next one.
    const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');
    signal.addEventListener('abort', endAtOnce);
    const database = openDatabase(config, process.env);
    try {
      const act = { atMs: systemClock.nowMs(), operator: 'schedule', command: 'backup', reason: 'nightly' };
      const parts = { config, audit: database.audit, env: process.env, act, clock: systemClock, log };
      const { file, bytes, deleted, isSent } = await runScheduledBackup(parts);
      log.info({ file, bytes, deleted, isSent }, 'the backup was made and proved');
    } finally {
      database.close();
    }
  },
  IN_BACKGROUND,
);
