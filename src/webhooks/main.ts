/**
 * The program that sends webhooks. The supervisor (`npm start`) runs one. What waits is in the database, so it may end
 * at any moment: what was under way is sent again by the next one.
 *
 * Exit codes: 0 stopped as requested (SIGTERM, SIGINT, or the supervisor is gone); 1 broken, or the database is
 * unavailable; 2 the configuration or database prevents a start.
 */
import '../lib/runtime.ts';
import { databaseOptions } from '../app/database-options.ts';
import type { Config } from '../config/config.ts';
import { openConfig } from '../config/given-config.ts';
import { Fault } from '../core/fault.ts';
import { type DeliveryDatabase, openDeliveryDatabase } from '../database/sending.ts';
import { doorFormats } from '../doors/notices.ts';
import { systemClock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import { giveSignsOfLife } from '../lib/heartbeat.ts';
import { holderOf } from '../lib/holder.ts';
import { openLog } from '../lib/log.ts';
import { awaitStart } from '../lib/start-signal.ts';
import { startDispatcher } from './dispatcher.ts';
import { attemptLimits } from './sender.ts';

const exitCodes = { broken: 1, cannotStart: 2 } as const;
const REPORT_MS = 5_000;
const PER_ENDPOINT_MAX = 4;

const clock = systemClock;
const stopping = new AbortController();
const stop = () => stopping.abort();
const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
for (const request of requests) process.on(request, stop);
void giveSignsOfLife(stopping.signal);

let log = openLog('webhooks', 'info');

/** Sends and reports until the signal aborts; what is under way then has a moment to end. */
async function send(config: Config, database: DeliveryDatabase, signal: AbortSignal): Promise<void> {
  const startedAtMs = clock.nowMs();
  const holder = holderOf(config.dataDir, 'webhooks');
  // The supervisor has seen the one before end, whatever it had under way. Those of other machines go on.
  await database.sending.endLeases(holder);
  const dispatcher = startDispatcher({
    database,
    holder,
    config: { ...attemptLimits, perEndpointMax: PER_ENDPOINT_MAX, ...config.webhooks },
    doors: doorFormats,
    clock,
    log,
  });
  const report = () =>
    database.sending.report({ pid: process.pid, startedAtMs, atMs: clock.nowMs(), ...dispatcher.state() });
  const reporting = every(REPORT_MS, report, { clock, log, signal, what: 'reporting what was sent' });
  process.send?.({ ready: true });
  log.info('webhooks are being sent');
  await reporting;
  await dispatcher.stop();
}

try {
  const start = await awaitStart(process.env, stopping.signal);
  if (start) {
    const config = await openConfig(start.given, { env: process.env, cwd: process.cwd() });
    log = openLog('webhooks', config.logLevel);
    const database = openDeliveryDatabase(databaseOptions(config, process.env, { log }));
    try {
      await send(config, database, stopping.signal);
    } finally {
      database.close();
    }
  }
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  log.fatal({ code: error.code }, error.message);
  process.exitCode = error.kind === 'permanent' ? exitCodes.cannotStart : exitCodes.broken;
} finally {
  stop();
  // The listener for the supervisor would keep this process alive.
  for (const request of requests) process.off(request, stop);
}
