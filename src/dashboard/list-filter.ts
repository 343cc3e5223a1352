/**
 * What the filters of lists share: choices, days, and the address that says what was chosen.
 */
import { type Html, html } from '../lib/html.ts';
import { datePlus, startOfDayMs } from '../lib/zone.ts';
import type { Words } from './texts.ts';

/** From the beginning of the first day until after the whole last one; null: without a limit. */
type Days = Readonly<{ from: string | null; to: string | null; fromMs: number | null; toMs: number | null }>;

/** Reads the days that a page's address names, in a zone; what is no day is left out. */
export function readDays(query: URLSearchParams, zone: string): Days {
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  const fromMs = startOfDayMs(zone, from);
  const toMs = startOfDayMs(zone, to) === null ? null : startOfDayMs(zone, datePlus(to, 1));
  return { from: fromMs === null ? null : from, to: toMs === null ? null : to, fromMs, toMs };
}

/** Leaves out what was not chosen. */
export const chosenOf = <Name extends string>(
  said: Readonly<Record<Name, string | null>>,
): Readonly<Partial<Record<Name, string>>> =>
  Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null)) as Partial<Record<Name, string>>;

/** Returns what was chosen as a page's query, with what else it has; empty where there is none. */
export function queryOfChosen(
  chosen: Readonly<Partial<Record<string, string>>>,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ ...(chosen as Readonly<Record<string, string>>), ...more }).toString();
  return query === '' ? '' : `?${query}`;
}

/** A field whose values can be chosen. `isData`: the text is not in the page's language. */
type Choice = Readonly<{
  label: string;
  name: string;
  values: readonly (readonly [value: string, text: string, isData?: boolean])[];
}>;

/** Renders such a field, in which nothing may be chosen. */
export const choice = (words: Words, { label, name, values }: Choice, chosen = ''): Html =>
  html`<label>${label} <select name="${name}"><option value="">${words.say('general.any')}</option>${values.map(
    ([value, text, isData = false]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : null}${isData ? html` translate="no"` : null}>${text}</option>`,
  )}</select></label>`;

/** Renders the fields for days. */
export const dayFields = (words: Words, { from, to }: Readonly<{ from?: string; to?: string }>): Html =>
  html`<label>${words.say('payments.from')} <input type="date" name="from" value="${from ?? ''}"></label>
<label>${words.say('payments.to')} <input type="date" name="to" value="${to ?? ''}"></label>`;

type Pager = Readonly<{
  path: string;
  chosen: Readonly<Partial<Record<string, string>>>;
  /** Whether the list begins with the newest. */
  isFirst: boolean;
  /** What the address of the next page says besides; null on the last one. */
  older: Readonly<Record<string, string>> | null;
  /** The path of the list as a file; null for who may not have it. */
  csv?: string | null;
}>;

/** Renders the links to the newest of a list, to what is older, and to the list as a file. */
export function pager(words: Words, { path, chosen, isFirst, older, csv = null }: Pager): Html {
  const link = (to: string, more: Readonly<Record<string, string>>, text: string, rel: Html | null = null): Html =>
    html`<a href="${to}${queryOfChosen(chosen, more)}"${rel}>${text}</a>`;
  const all = Object.keys(chosen).length === 0 ? 'payments.csv_all' : 'payments.csv_these';
  return html`<p class="pager">${isFirst ? null : link(path, {}, words.say('general.newest'))}
${older && link(path, older, words.say('general.older'), html` rel="next"`)}
${csv && link(csv, {}, words.say(all))}</p>`;
}
