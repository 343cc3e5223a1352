/**
 * Makes the certificates of all networks, one network after the other, and ends. The supervisor starts it every night.
 *
 * It is a process of its own, of low priority: reading a day of blocks again must not slow the followers, and its
 * memory is given back at the end. Exit codes: 0 done, or stopped as requested; 2 the configuration or the database
 * does not allow a start.
 *
 * @module
 */
import '../src/lib/runtime.ts';
import { setPriority } from 'node:os';
import { openDatabase } from '../src/app/open-database.ts';
import { chains } from '../src/chains/index.ts';
import { type Config, loadConfig } from '../src/config/config.ts';
import { Fault } from '../src/core/fault.ts';
import type { Database } from '../src/database/database.ts';
import { systemClock } from '../src/lib/clock.ts';
import { openLog } from '../src/lib/log.ts';
import { certifyNetwork } from './evidence/nightly.ts';
import { openEvidence } from './evidence/open.ts';
import { makeRoomForAnswers } from './v8-flags.ts';

const EXIT_CANNOT_START = 2;
/** Of 19, which is the lowest. */
const NICENESS = 10;

const stopping = new AbortController();
const stop = () => stopping.abort();
const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
for (const request of requests) process.on(request, stop);
let log = openLog('evidence', 'info');

async function certifyAll(config: Config, database: Database): Promise<void> {
  const { dataDir, networks, evidence } = config;
  for (const network of networks) {
    if (stopping.signal.aborted) return;
    if (evidence.except.includes(network.name) || evidence.except.includes(network.key)) continue;
    const common = { network, database, clock: systemClock };
    const open = await openEvidence({
      ...common,
      chain: chains[network.family],
      dataDir,
      hasSigner: config.signer !== null,
    });
    // At a stop, requests in flight end at once, as a fault of the closed node.
    const close = () => void open.close();
    stopping.signal.addEventListener('abort', close, { once: true });
    try {
      await certifyNetwork({ ...open, ...common, log }, stopping.signal);
    } finally {
      await open.close();
    }
  }
}

try {
  makeRoomForAnswers();
  setPriority(NICENESS);
  const config = loadConfig({ env: process.env, cwd: process.cwd() });
  log = openLog('evidence', config.logLevel);
  const database = openDatabase(config, process.env);
  try {
    await certifyAll(config, database);
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
