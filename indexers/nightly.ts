/**
 * Compares the final blocks of all networks with the database, one network after the other, and ends. The supervisor
 * starts it every night.
 *
 * It is a process of its own, of low priority: reading a day of blocks again must not slow the followers, and its
 * memory is given back at the end. Exit codes: 0 done, or stopped as requested; 2 the configuration or the database
 * does not allow a start.
 */
import '../src/lib/runtime.ts';
import { setPriority } from 'node:os';
import { openDatabase } from '../src/app/open-database.ts';
import { type Config, loadConfig } from '../src/config/config.ts';
import { Fault } from '../src/core/fault.ts';
import type { Database } from '../src/database/database.ts';
import { systemClock } from '../src/lib/clock.ts';
import { openLog } from '../src/lib/log.ts';
import { compareNetwork } from './comparison/network.ts';
import { openComparison } from './comparison/open.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

const EXIT_CANNOT_START = 2;
/** Of 19, which is the lowest. */
const NICENESS = 10;

const stopping = new AbortController();
const stop = () => stopping.abort();
const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
for (const request of requests) process.on(request, stop);
let log = openLog('comparison', 'info');

async function compareAll({ networks }: Config, database: Database): Promise<void> {
  for (const network of networks) {
    if (stopping.signal.aborted) return;
    const open = await openComparison({ network, database, clock: systemClock, log });
    // At a stop, requests in flight end at once, as a fault of the closed node.
    const close = () => void open.close();
    stopping.signal.addEventListener('abort', close, { once: true });
    try {
      await compareNetwork(open, stopping.signal);
    } finally {
      await open.close();
    }
  }
}

try {
  makeRoomForAnswers();
  setPriority(NICENESS);
  const config = loadConfig({ env: process.env, cwd: process.cwd() });
  log = openLog('comparison', config.logLevel);
  const database = openDatabase(config, process.env);
  try {
    await compareAll(config, database);
  } finally {
    database.close();
  }
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.fatal({ code: error.code }, error.message);
  process.exitCode = EXIT_CANNOT_START;
} finally {
  // The listener for the supervisor would keep this process alive.
  for (const request of requests) process.off(request, stop);
}
