/** Fields that limit a list, which live in its address, and the pages of a list, the newest first. */
import { type Html, html } from '../lib/html.ts';
import type { Words } from '../lib/words.ts';
import { datePlus, startOfDayMs, UTC } from '../lib/zone.ts';

/** The language of the page. */
type Says = Pick<
  Words<'any' | 'Show' | 'First day' | 'Last day' | 'Newest' | 'Older' | 'All as CSV' | 'These as CSV'>,
  'say'
>;

/** A field that limits a list: a choice, or a day. `isData`: of no language. */
export type Field = Readonly<{ name: string; label: Html | string }> &
  (
    | Readonly<{ choices: readonly (readonly [value: string, text: string, isData?: boolean])[] }>
    | Readonly<{ type: 'date' }>
  );

/** Chosen values by the names of their fields. */
export type Chosen = Readonly<Partial<Record<string, string>>>;

/** The fields for the first and the last day. */
export const dayFields = (words: Says): readonly Field[] =>
  [['from', words.say('First day')] as const, ['to', words.say('Last day')] as const].map(([name, label]) => ({
    name,
    label,
    type: 'date',
  }));

/** Returns when the first day begins in a zone, and when the whole last one is over; null: without a limit. */
export const daysOf = ({ from = '', to = '' }: Chosen, zone: string) => ({
  fromMs: startOfDayMs(zone, from),
  toMs: to === '' ? null : startOfDayMs(zone, datePlus(to, 1)),
});

/** Reads what an address chooses. Any other value limits nothing, and is left out. */
export function readChosen(fields: readonly Field[], query: URLSearchParams): Chosen {
  const chosen: Record<string, string> = {};
  for (const field of fields) {
    const text = (query.get(field.name) ?? '').trim();
    const isKnown = 'choices' in field ? field.choices.some(([one]) => one === text) : startOfDayMs(UTC, text) !== null;
    if (isKnown) chosen[field.name] = text;
  }
  return chosen;
}

/** Renders the fields as a form, which leads to the list at this path. */
export const limitForm = (words: Says, path: string, fields: readonly Field[], chosen: Chosen): Html =>
  html`<form method="get" action="${path}" class="controls">${fields.map((field) => {
    const value = chosen[field.name] ?? '';
    const input =
      'choices' in field
        ? html`<select name="${field.name}"><option value="">${words.say('any')}</option>${field.choices.map(
            ([one, text, isData]) =>
              html`<option value="${one}"${one === value ? html` selected` : null}${isData ? html` translate="no"` : null}>${text}</option>`,
          )}</select>`
        : html`<input type="date" name="${field.name}" value="${value}">`;
    return html`<label>${field.label} ${input}</label>`;
  })}
<button class="plain">${words.say('Show')}</button></form>`;

/** Returns what was chosen as a page's query, with what else it has; empty where there is none. */
export function queryOf(chosen: Chosen, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...(chosen as Readonly<Record<string, string>>), ...more }).toString();
  return query === '' ? '' : `?${query}`;
}

type Pager = Readonly<{
  path: string;
  chosen: Chosen;
  /** Whether the list begins with the newest. */
  isFirst: boolean;
  /** Where the next page begins; null on the last one. */
  goOn: string | null;
  /** The path of its file, for this visitor; null for none. */
  file: string | null;
}>;

/** Renders the links to the newest of a list, to what is older, and to the list as a file. */
export function pager(words: Says, { path, chosen, isFirst, goOn, file }: Pager): Html | null {
  if (isFirst && goOn === null && file === null) return null;
  const all = Object.keys(chosen).length === 0 ? 'All as CSV' : 'These as CSV';
  return html`<p class="pager">${isFirst ? null : html`<a href="${path}${queryOf(chosen)}">${words.say('Newest')}</a>`}
${goOn && html`<a href="${path}${queryOf(chosen, { before: goOn })}" rel="next">${words.say('Older')}</a>`}
${file && html`<a href="${file}${queryOf(chosen)}">${words.say(all)}</a>`}</p>`;
}

/** Rows, the newest first, and where the next ones begin; null at the end. */
export type Rows<Row> = Readonly<{ rows: readonly Row[]; goOn: string | null }>;

/** Cuts rows that were read with one more than a page has. @param idOf where the next page begins */
export function pageOf<Row>(found: readonly Row[], limit: number, idOf: (row: Row) => string | number): Rows<Row> {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, goOn: last === undefined ? null : String(idOf(last)) };
}
