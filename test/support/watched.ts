/**
 * A watch with its loop on a real database, looked at when the test says so.
 */
import { createWatchdog, type Watch, type WatchdogOptions } from '../../src/app/watches/watchdog.ts';
import type { Database } from '../../src/database/database.ts';
import { openLog } from '../../src/lib/log.ts';

export const PATIENCE_MS = 300_000;
export const CALM_MS = 60_000;

export type Watched = ReturnType<typeof watched>;

/** The settings are those of `config/default.json`. */
export function watched(
  watch: Watch,
  database: Database,
  clock: WatchdogOptions['clock'] & Readonly<{ advance(ms: number): void }>,
) {
  const settings = { patienceMs: PATIENCE_MS, calmMs: CALM_MS };
  const lookOnce = createWatchdog(watch, { alarms: database.alarms, settings, clock, log: openLog('test', 'silent') });
  /** Looks once. @returns the codes of the alarms that are open then, oldest first */
  const look = async (): Promise<string[]> => {
    await lookOnce();
    return (await database.alarms.listOpen()).map(({ code }) => code);
  };
  return {
    look,
    /** Looks after this time has passed; `step` is how often in between. */
    async after(ms: number, stepMs = ms) {
      let codes: string[] = [];
      for (let left = ms; left > 0; left -= stepMs) {
        clock.advance(Math.min(left, stepMs));
        codes = await look();
      }
      return codes;
    },
    open: () => database.alarms.listOpen(),
    /** Returns all alarms so far with how they are now, oldest first: `network_fault open`. */
    all: async () =>
      (await database.alarms.list(100))
        .map(({ code, key, endedAtMs }) => `${code} ${key === null ? 'event' : endedAtMs === null ? 'open' : 'ended'}`)
        .reverse(),
  };
}
