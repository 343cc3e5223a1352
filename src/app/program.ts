/**
 * The frame of the programs that the supervisor starts. The supervisor sends them their settings, so that they need no
 * code to read and check these. That saves a tenth of a second and 8 MB in each process.
 */
import { once, setMaxListeners } from 'node:events';
import { setPriority } from 'node:os';
import type { Config } from '../config/config.ts';
import { Fault } from '../core/fault.ts';
import { systemClock } from '../lib/clock.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import { type Log, openLog } from '../lib/log.ts';
import { collectStartGarbage } from '../lib/start-garbage.ts';
import type { Sent } from './fork-program.ts';

const exitCodes = { stopped: 0, failed: 1, cannotStart: 2 } as const;

/** `signal` aborts on SIGTERM and SIGINT, and when the supervisor has gone. */
export type ProgramParts = Readonly<{ config: Config; log: Log; signal: AbortSignal }>;

type ProgramOptions = Readonly<{
  /** Its niceness, from 0 to 19. */
  niceness?: number;
}>;

/** Options of nightly work, which must not slow payments. */
export const IN_BACKGROUND: ProgramOptions = { niceness: 10 };

/**
 * Does the work of a program and ends the process. The exit code is 0 after the work, 1 after a transient fault, and 2
 * if a person must act before a start. The supervisor gets the fault. A broken invariant is thrown.
 * @param name the name of the log
 */
export async function runProgram(
  name: string,
  work: (parts: ProgramParts) => Promise<void>,
  { niceness = 0 }: ProgramOptions = {},
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  // Every service listens to the signal, and Node would warn about more than ten listeners.
  setMaxListeners(0, signal);
  for (const request of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(request, () => stopping.abort());
  if (niceness > 0) setPriority(niceness);
  void collectStartGarbage(systemClock, signal);
  let log = openLog(name, 'info');
  let exitCode: number = exitCodes.stopped;
  try {
    const config = await readSettings(signal);
    if (config) {
      log = openLog(name, config.logLevel);
      await work({ config, log, signal });
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.fatal({ code: error.code }, error.message);
    exitCode = error.kind === 'permanent' ? exitCodes.cannotStart : exitCodes.failed;
    await sendToSupervisor({ fault: { code: error.code, message: error.message } });
  }
  // Without this call the supervisor's channel would keep the process alive.
  process.exit(exitCode);
}

/**
 * Returns the settings that the supervisor sent. Loads them if there is no supervisor, or if they are invalid. Returns
 * null if the process is to stop.
 */
async function readSettings(signal: AbortSignal): Promise<Config | null> {
  if (process.connected) {
    const arrived = once(process, 'message', { signal }).catch(() => null);
    const [sent] = ((await arrived) ?? []) as Sent[];
    if (signal.aborted) return null;
    if (sent?.settings) return deepFreeze(sent.settings);
  }
  const { loadConfig } = await import('../config/config.ts');
  return loadConfig({ env: process.env, cwd: process.cwd() });
}

/** Resolves when the message has left, because it must arrive before the channel closes. */
const sendToSupervisor = (message: object): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
