/**
 * The frame of a program that the supervisor starts at night. It is a process of its own, of low priority, so that
 * neither its memory nor its work slows payments.
 */
import { setPriority } from 'node:os';
import { type Config, loadConfig } from '../config/config.ts';
import { Fault } from '../core/fault.ts';
import { type Log, openLog } from '../lib/log.ts';

const EXIT_FAILED = 1;
const EXIT_CANNOT_START = 2;
/** Of 19, which is the lowest. */
const NICENESS = 10;

/** `signal` aborts when the supervisor asks for an end, or has gone. */
type NightlyParts = Readonly<{ config: Config; log: Log; signal: AbortSignal }>;

/**
 * Does the work once. A fault is logged and sets the exit code: 2 if the configuration does not allow a start, else 1.
 * @param name of the log
 */
export async function runNightlyProgram(name: string, work: (parts: NightlyParts) => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const requests = ['SIGTERM', 'SIGINT', 'disconnect'] as const;
  for (const request of requests) process.on(request, stop);
  let log = openLog(name, 'info');
  try {
    setPriority(NICENESS);
    const config = loadConfig({ env: process.env, cwd: process.cwd() });
    log = openLog(name, config.logLevel);
    await work({ config, log, signal: stopping.signal });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.error({ code: error.code }, error.message);
    process.exitCode = error.code === 'config_invalid' ? EXIT_CANNOT_START : EXIT_FAILED;
  } finally {
    // The listener for the supervisor would keep this process alive.
    for (const request of requests) process.off(request, stop);
  }
}
