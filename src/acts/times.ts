/** Times as people type them: a date or a time (UTC), or how long ago. */

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?$/;

/** Returns a date or time (UTC) in milliseconds; NaN if it is neither. */
const parseMoment = (text: string): number =>
  MOMENT.test(text)
    ? Date.parse(text.length > 10 ? `${text.replace(' ', 'T').replace(/Z?$/, '')}Z` : text)
    : Number.NaN;

/** Returns a time that is a moment, or a span before now. @returns NaN if the text is no time */
export function parseTime(text: string, nowMs: number): number {
  const spanMs = parseSpan(text);
  return Number.isNaN(spanMs) ? parseMoment(text) : nowMs - spanMs;
}

/** Returns a span such as `90s`, `30m`, `2h` or `3d` in milliseconds. @returns NaN if the text is none */
export function parseSpan(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return Number(count) * (unitsMs[unit] ?? Number.NaN);
}
