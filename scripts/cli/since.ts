/** Options that are a time, such as `--since`, or how long something lasts. */
import { parseMoment, parseSpan, parseTime } from '../../src/acts/times.ts';
import { type Input, type Option, textOption, usage } from './command.ts';

export const sinceOption: Option = {
  value: 'TIME',
  help: 'from this time on: `2h`, `3d`, `2026-11-23` or `2026-11-23T10:00:00Z` (UTC)',
};

/** Returns an option's time in milliseconds, or null if it was not given. @throws Fault permanent `usage` */
export function readMoment(input: Input, name: string): number | null {
  const text = textOption(input, name);
  if (text === undefined) return null;
  const ms = parseMoment(text);
  if (ms >= 0) return ms;
  throw usage(`--${name} is "${text}", expected a date or time (UTC), such as 2026-11-01 or 2026-11-01T10:00:00Z`);
}

/** Returns the time in milliseconds, or null if the option was not given. @throws Fault permanent `usage` */
export function readSince(input: Input, nowMs: number): number | null {
  const text = textOption(input, 'since');
  if (text === undefined) return null;
  const ms = parseTime(text, nowMs, -1);
  if (ms >= 0 && ms <= nowMs) return ms;
  throw usage(`--since is "${text}", expected a time in the past, such as 2h, 3d or 2026-11-23T10:00:00Z`);
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
