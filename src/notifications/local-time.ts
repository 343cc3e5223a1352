/**
 * Times of day in a zone: quiet hours, and when a digest is due.
 * @module
 */
import type { QuietHours } from '../database/notices.ts';
import { readMinute, timeIn } from '../lib/zone.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** Returns minutes after midnight in the zone. */
export const minuteAt = (zone: string, nowMs: number): number => readMinute(timeIn(zone, nowMs).slice(11, 16)) ?? 0;

/** Returns the next time at which the zone's clocks show this minute, later than `nowMs`. */
export function nextMinuteMs(zone: string, minute: number, nowMs: number): number {
  const thisMinuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const wait = (minute - minuteAt(zone, nowMs) + DAY_MINUTES - 1) % DAY_MINUTES;
  const guessMs = thisMinuteMs + (wait + 1) * MINUTE_MS;
  // Where clocks are changed in between, the guess is an hour early or late.
  const off = minute - minuteAt(zone, guessMs);
  const shift = ((off + 1.5 * DAY_MINUTES) % DAY_MINUTES) - DAY_MINUTES / 2;
  const shiftedMs = guessMs + shift * MINUTE_MS;
  return shiftedMs > nowMs ? shiftedMs : guessMs;
}

/** Returns when the quiet hours end; null outside of them. */
export function quietUntilMs(quiet: QuietHours | null, zone: string, nowMs: number): number | null {
  if (!quiet || quiet.from === quiet.to) return null;
  const minute = minuteAt(zone, nowMs);
  const isQuiet =
    quiet.from < quiet.to ? minute >= quiet.from && minute < quiet.to : minute >= quiet.from || minute < quiet.to;
  return isQuiet ? nextMinuteMs(zone, quiet.to, nowMs) : null;
}
