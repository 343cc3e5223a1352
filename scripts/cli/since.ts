/**
 * Options that are a time: `--since`, or how long ago; `--expires`, or in how long; or how long something lasts.
 * @module
 */
import { type Input, type Option, textOption, usage } from './command.ts';

export const sinceOption: Option = {
  value: 'TIME',
  help: 'from this time on: `2h`, `3d`, `2026-11-23` or `2026-11-23T10:00:00Z` (UTC)',
};

export const expiresOption: Option = {
  value: 'TIME',
  help: 'refuse it from then on: `90d`, `2027-11-23` or `2027-11-23T10:00:00Z` (UTC; default: never)',
};

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SPAN = /^(\d{1,5})([mhd])$/;
const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?$/;

/** Returns a date or time (UTC) in milliseconds; NaN if it is neither. */
const parseMoment = (text: string): number =>
  MOMENT.test(text)
    ? Date.parse(text.length > 10 ? `${text.replace(' ', 'T').replace(/Z?$/, '')}Z` : text)
    : Number.NaN;

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
  const ms = readTime(text, nowMs, -1);
  if (ms >= 0 && ms <= nowMs) return ms;
  throw usage(`--since is "${text}", expected a time in the past, such as 2h, 3d or 2026-11-23T10:00:00Z`);
}

/** Returns the time in milliseconds, or null if the option was not given. @throws Fault permanent `usage` */
export function readExpiry(input: Input, nowMs: number): number | null {
  const text = textOption(input, 'expires');
  if (text === undefined) return null;
  const ms = readTime(text, nowMs, 1);
  if (ms > nowMs) return ms;
  throw usage(`--expires is "${text}", expected a time to come, such as 90d, 2027-11-23 or 2027-11-23T10:00:00Z`);
}

/** @returns NaN if the text is no time */
function readTime(text: string, nowMs: number, direction: 1 | -1): number {
  const [, count, unit] = SPAN.exec(text) ?? [];
  return unit ? nowMs + direction * Number(count) * (unitsMs[unit] ?? 0) : parseMoment(text);
}

/**
 * Returns an option's time span in milliseconds, such as `90s`, `30m`, `2h` or `3d`.
 * @param fallback the text to read if the option was not given
 * @throws Fault permanent `usage`
 */
export function readSpan(input: Input, name: string, msMax: number, fallback: string): number {
  const text = textOption(input, name) ?? fallback;
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (unitsMs[unit] ?? Number.NaN);
  if (ms > 0 && ms <= msMax) return ms;
  throw usage(`--${name} is "${text}", expected a time such as 90s, 30m or 2h, at most ${msMax / 3_600_000}h`);
}
