/**
 * The frame of the programs that the supervisor starts. It sends them their settings, so that they do not load what
 * reads and checks these: a tenth of a second and 8 MB in each process.
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
  /** How far it gives way to other processes, of 19. */
  niceness?: number;
}>;

/** Of work at night: it slows no payment. */
export const IN_BACKGROUND: ProgramOptions = { niceness: 10 };

/**
 * Does the work of a program and ends the process: with 0 when it is done; with 1 if a transient fault ended it; with 2
 * if a person must act before it can start. The supervisor gets the fault. A broken invariant is thrown.
 * @param name of the log
 */
export async function runProgram(
  name: string,
  work: (parts: ProgramParts) => Promise<void>,
  { niceness = 0 }: ProgramOptions = {},
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  // Every service listens to it; without this Node warns of more than ten.
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
  // The supervisor's channel would keep this process alive.
  process.exit(exitCode);
}

/**
 * Returns the settings that the supervisor sent. Without a supervisor, or where they are invalid, loads them. Null if
 * the process is to stop.
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

/** Resolves when the message has left: it must arrive before the channel closes. */
const sendToSupervisor = (message: object): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
