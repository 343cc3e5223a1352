/**
 * The days of a report, as a page's address names them: whole days of the page's zone.
 * @module
 */
import { DAY_MS } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { dateIn, datePlus, startOfDayMs } from '../lib/zone.ts';
import { dayFields, queryOfChosen, readDays } from './list-filter.ts';
import type { Words } from './texts.ts';

/** From the midnight before the first day until that after the last one. `days`: how many there are. */
export type ReportPeriod = Readonly<{ from: string; to: string; fromMs: number; toMs: number; days: number }>;

const firstOfMonth = (date: string): string => `${date.slice(0, 8)}01`;

/**
 * Reads the days. Without any it is this month until today, without the last one until today, and without the first
 * one that month from its beginning. @returns null if the first day is after the last one
 */
export function readPeriod(query: URLSearchParams, zone: string, nowMs: number): ReportPeriod | null {
  const asked = readDays(query, zone);
  const to = asked.to ?? dateIn(zone, nowMs);
  const from = asked.from ?? firstOfMonth(to);
  if (from > to) return null;
  const [fromMs, toMs] = [startOfDayMs(zone, from) ?? 0, startOfDayMs(zone, datePlus(to, 1)) ?? 0];
  return { from, to, fromMs, toMs, days: Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1 };
}

/** Returns every day of a period with when it begins, and when the last one ends. */
export function daysOf({ from, days, toMs }: ReportPeriod, zone: string) {
  const dates = Array.from({ length: days }, (_, after) => datePlus(from, after));
  return { dates, timesMs: [...dates.map((date) => startOfDayMs(zone, date) ?? 0), toMs] };
}

/** Renders the choice: this month, the last one, or any days. @param at when it is now */
export function periodForm(
  words: Words,
  path: string,
  chosen: Readonly<{ from?: string; to?: string }>,
  at: Readonly<{ zone: string; nowMs: number }>,
): Html {
  const today = dateIn(at.zone, at.nowMs);
  const thisMonth = firstOfMonth(today);
  const before = datePlus(thisMonth, -1);
  const months = [
    ['this_month', { from: thisMonth, to: today }],
    ['last_month', { from: firstOfMonth(before), to: before }],
  ] as const;
  return html`<form method="get" action="${path}" class="controls">
${months.map(([name, days]) => {
  const isChosen = days.from === chosen.from && days.to === chosen.to;
  return html`<a class="button plain" href="${path}${queryOfChosen(days)}"${isChosen ? html` aria-current="true"` : null}>${words.say(`reports.${name}`)}</a>`;
})}
${dayFields(words, chosen)}<button class="plain">${words.say('general.show')}</button></form>`;
}
