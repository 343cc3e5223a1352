/** Options that are a time, or how long something lasts. */
import { parseSpan, parseTime } from '../../src/acts/times.ts';
import { type Input, textOption, usage } from './command.ts';

/**
 * Returns an option's time in milliseconds, or null if it was not given: a date or time (UTC), or how long before now.
 * @throws Fault permanent `usage`
 */
export function readMoment(input: Input, name: string, nowMs: number): number | null {
  const text = textOption(input, name);
  if (text === undefined) return null;
  const ms = parseTime(text, nowMs, -1);
  if (ms >= 0) return ms;
  throw usage(`--${name} is "${text}", expected a time such as 30d, 2026-11-01 or 2026-11-01T10:00:00Z (UTC)`);
}

/**
 * Returns an option's time span in milliseconds, such as `90s`, `30m`, `2h` or `3d`.
 * @param fallback the text to read if the option was not given
 * @throws Fault permanent `usage`
 */
export function readSpan(input: Input, name: string, msMax: number, fallback: string): number {
  const text = textOption(input, name) ?? fallback;
  const ms = parseSpan(text);
  if (ms > 0 && ms <= msMax) return ms;
  throw usage(`--${name} is "${text}", expected a time such as 90s, 30m or 2h, at most ${msMax / 3_600_000}h`);
}
