/**
 * Tells systemd how this service is, if a unit of `Type=notify` runs it. Node has no datagram sockets of unix, so
 * `systemd-notify` sends, and the unit needs `NotifyAccess=all`. Protocol: sd_notify(3).
 */
import { execFile } from 'node:child_process';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

const SEND_MS_MAX = 5000;
const US_PER_MS = 1000;

export interface ServiceManager {
  /** Says that everything runs, and until the signal that this process is alive, as often as the unit wants. */
  ready(status: string, signal: AbortSignal): Promise<void>;
  /** Says that the service is stopping. */
  stopping(): Promise<void>;
}

/**
 * Takes the variables of systemd out of the environment: they are not for children.
 * @returns what does nothing if no unit of `Type=notify` runs this process
 */
export function openServiceManager(
  env: NodeJS.ProcessEnv,
  { clock, log }: Readonly<{ clock: Pick<Clock, 'sleep'>; log: Pick<Log, 'error'> }>,
): ServiceManager {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdogUs, PATH } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (!socket) return { ready: async () => {}, stopping: async () => {} };

  const send = (...assignments: string[]): Promise<void> =>
    new Promise((resolve) => {
      const options = { env: { PATH, NOTIFY_SOCKET: socket }, timeout: SEND_MS_MAX };
      execFile('systemd-notify', assignments, options, (error) => {
        const hint = 'is systemd-notify installed, and does the unit have NotifyAccess=all?';
        if (error)
          log.error({ code: 'systemd_not_told' }, `systemd was not told ${assignments}: ${error.message}; ${hint}`);
        resolve();
      });
    });
  const intervalMs = Math.floor(Number(watchdogUs ?? 0) / US_PER_MS / 2);
  return {
    async ready(status, signal) {
      await send('READY=1', `STATUS=${status}`);
      while (intervalMs > 0 && !signal.aborted) {
        await clock.sleep(intervalMs, signal);
        if (!signal.aborted) await send('WATCHDOG=1');
      }
    },
    stopping: () => send('STOPPING=1', 'STATUS=stopping'),
  };
}
