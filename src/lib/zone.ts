/**
 * Times in IANA time zones, by the tables that Node.js brings.
 */
import { DAY_MS } from './clock.ts';

/** The zone of who has chosen none. */
export const UTC = 'UTC';

/** Formats that are in use, by name in lower case: some 600. Any upper and lower case is a name of the same zone. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError for what is no zone */
function formatOf(zone: string): Intl.DateTimeFormat {
  const name = zone.toLowerCase();
  const known = formats.get(name);
  if (known) return known;
  const digits = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const made = new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...digits, second: '2-digit', hourCycle: 'h23' });
  formats.set(name, made);
  return made;
}

/**
 * Returns an IANA time zone that this machine knows in one spelling, such as `Europe/Berlin` for `europe/berlin`; null
 * for a text that names none. A later name stays what it is: Node would call `Asia/Kolkata` by its earlier name.
 */
export function readZone(text: string): string | null {
  if (!/^[a-z]/i.test(text)) return null;
  const name = text.toLowerCase();
  try {
    const own = new Intl.DateTimeFormat('en-GB', { timeZone: text }).resolvedOptions().timeZone;
    return own.toLowerCase() === name ? own : name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());
  } catch {
    return null;
  }
}

/** Returns what the zone's clocks and calendars show: `2026-11-25 14:03:22`. */
export function timeIn(zone: string, ms: number): string {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
  const { year = '', month, day, hour, minute, second } = parts;
  return `${year.padStart(4, '0')}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** Returns the zone's date: `2026-11-25`. */
export const dateIn = (zone: string, ms: number): string => timeIn(zone, ms).slice(0, 10);

/** Returns how far the zone's clocks are ahead of UTC, in ms. */
const aheadMs = (zone: string, ms: number): number =>
  Date.parse(`${timeIn(zone, ms).replace(' ', 'T')}Z`) - Math.floor(ms / 1000) * 1000;

/**
 * Returns when a day begins in the zone, also where clocks are changed at midnight; null for what is no date.
 * @param date `2026-11-25`
 */
export function startOfDayMs(zone: string, date: string): number | null {
  const midnightMs = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(midnightMs)) return null;
  // Clocks' offsets there a day before and after: one of both is right for the midnight between.
  const starts = [midnightMs - DAY_MS, midnightMs + DAY_MS].map((ms) => midnightMs - aheadMs(zone, ms));
  const first = starts.find((ms) => dateIn(zone, ms) === date && dateIn(zone, ms - 1) !== date);
  return first ?? Math.max(...starts);
}

/** Returns the date so many days later. */
export const datePlus = (date: string, days: number): string =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
