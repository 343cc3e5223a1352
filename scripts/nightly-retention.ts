/**
 * Removes old data once, and ends. The supervisor starts it every night.
 *
 * It is a process of its own, of low priority, so that neither its memory nor its work slows payments. A stop ends it
 * after the slice that is under way; the rest is done the next night. Exit codes: 0 done; 1 it failed, as the log says;
 * 2 the configuration or the database does not allow a start.
 */
import '../src/lib/runtime.ts';
import { setPriority } from 'node:os';
import { openRetention, runRetention } from '../src/app/retention.ts';
import { loadConfig } from '../src/config/config.ts';
import { Fault } from '../src/core/fault.ts';
import { systemClock } from '../src/lib/clock.ts';
import { openLog } from '../src/lib/log.ts';

const EXIT_FAILED = 1;
const EXIT_CANNOT_START = 2;
/** Of 19, which is the lowest. */
const NICENESS = 10;

const stopping = new AbortController();
const stop = (): void => stopping.abort();
for (const request of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(request, stop);
let log = openLog('retention', 'info');
try {
  setPriority(NICENESS);
  const config = loadConfig({ env: process.env, cwd: process.cwd() });
  log = openLog('retention', config.logLevel);
  const database = openRetention(config, process.env);
  try {
    const done = await runRetention({ config, database, clock: systemClock, signal: stopping.signal });
    log.info({ ...done }, 'old data was removed');
  } finally {
    database.close();
  }
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.error({ code: error.code }, error.message);
  process.exitCode = error.code === 'config_invalid' ? EXIT_CANNOT_START : EXIT_FAILED;
} finally {
  // The listener for the supervisor would keep this process alive.
  process.off('disconnect', stop);
}
