/**
 * Lists: fields that limit them, which live in the address; pages, the newest first; and the same rows as a CSV file,
 * which is read in slices with pauses, because payers' pages are served by the same thread and database.
 */
import type { Clock } from '../lib/clock.ts';
import { type Cells, rowWriter } from '../lib/export-text.ts';
import { type Html, html } from '../lib/html.ts';
import { datePlus, startOfDayMs, UTC } from '../lib/zone.ts';
import { type Column, list } from '../web/list.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { filled, may, type Reply, type StoreAt, type Visit } from './page.ts';
import type { Words } from './texts.ts';

const PAGE_ROWS = 50;
/** The pause after a slice, as often as long as it took to read: files take a third of the thread at most. */
const PAUSE_FACTOR = 2;
/** Shorter pauses would not let others begin. */
const PAUSE_MS_MIN = 4;

/** A field that limits a list: a choice, or a text that `read` takes as it is meant. `isData`: of no language. */
export type Field = Readonly<{ name: string; label: Html | string }> &
  (
    | Readonly<{ choices: readonly (readonly [value: string, text: string, isData?: boolean])[] }>
    | Readonly<{ type: 'text' | 'date'; charsMax: number; read(text: string): string | null }>
  );

/** Chosen values by the names of their fields. */
export type Chosen = Readonly<Partial<Record<string, string>>>;

/** The fields for the first and the last day. */
export const dayFields = (words: Words): readonly Field[] =>
  [['from', words.say('First day')] as const, ['to', words.say('Last day')] as const].map(([name, label]) => ({
    ...{ name, label, type: 'date', charsMax: 10 },
    read: (text) => (startOfDayMs(UTC, text) === null ? null : text),
  }));

/** Returns when the first day begins in a zone, and when the whole last one is over; null: without a limit. */
export const daysOf = ({ from = '', to = '' }: Chosen, zone: string) => ({
  fromMs: startOfDayMs(zone, from),
  toMs: to === '' ? null : startOfDayMs(zone, datePlus(to, 1)),
});

/** Reads what an address chooses. What is none of the choices limits nothing, and is left out. */
export function readChosen(fields: readonly Field[], query: URLSearchParams): Chosen {
  const chosen: Record<string, string> = {};
  for (const field of fields) {
    const text = (query.get(field.name) ?? '').trim();
    const value =
      'choices' in field
        ? field.choices.find(([one]) => one === text)?.[0]
        : text.length <= field.charsMax && field.read(text);
    if (value) chosen[field.name] = value;
  }
  return chosen;
}

/** Renders the fields as a form, which leads to the list at this path. */
export const limitForm = (words: Words, path: string, fields: readonly Field[], chosen: Chosen): Html =>
  html`<form method="get" action="${path}" class="controls">${fields.map((field) => {
    const value = chosen[field.name] ?? '';
    const input =
      'choices' in field
        ? html`<select name="${field.name}"><option value="">${words.say('any')}</option>${field.choices.map(
            ([one, text, isData]) =>
              html`<option value="${one}"${one === value ? html` selected` : null}${isData ? html` translate="no"` : null}>${text}</option>`,
          )}</select>`
        : html`<input type="${field.type}" name="${field.name}" value="${value}" maxlength="${field.charsMax}" dir="auto" autocomplete="off" spellcheck="false">`;
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
  /** Whether there is a file of it, for this visitor. */
  hasFile: boolean;
}>;

/** Renders the links to the newest of a list, to what is older, and to the list as a file. */
function pager(words: Words, { path, chosen, isFirst, goOn, hasFile }: Pager): Html | null {
  if (isFirst && goOn === null && !hasFile) return null;
  const all = Object.keys(chosen).length === 0 ? 'All as CSV' : 'These as CSV';
  return html`<p class="pager">${isFirst ? null : html`<a href="${path}${queryOf(chosen)}">${words.say('Newest')}</a>`}
${goOn && html`<a href="${path}${queryOf(chosen, { before: goOn })}" rel="next">${words.say('Older')}</a>`}
${hasFile ? html`<a href="${path}.csv${queryOf(chosen)}">${words.say(all)}</a>` : null}</p>`;
}

/** Rows, the newest first, and where the next ones begin; null at the end. */
export type Rows<Row> = Readonly<{ rows: readonly Row[]; goOn: string | null }>;

/** A list that has a page; that of a store may have a file. */
export type Listing<At extends StoreAt | null, Row> = Readonly<{
  /** The path of its page. */
  path: string;
  caption(visit: Visit<At>): string;
  /** Fields that limit it. */
  fields?(visit: Visit<At>): Promise<readonly Field[]> | readonly Field[];
  /** Returns the rows after a place, which comes from the address: of one that cannot be, the newest. */
  read(visit: Visit<At>, chosen: Chosen, after: string | null, limit: number): Promise<Rows<Row>>;
  columns(visit: Visit<At>, rows: readonly Row[]): Promise<readonly Column<Row>[]> | readonly Column<Row>[];
  /** Text for an empty list: `rest` where older rows may match. */
  empty(visit: Visit<At>, why: 'nothing' | 'no match' | 'rest'): Html | string;
  file?: Readonly<{
    /** Contents of the file, for its name and for the audit log. */
    noun: string;
    columns: readonly string[];
    cells(rows: readonly Row[]): Promise<readonly Cells[]>;
    /** Rows that are read at once. */
    sliceRows: number;
  }>;
}>;

/** A page of a list. `form` limits it. */
type ListShown = Readonly<{ form: Html | null; isLimited: boolean; isFirst: boolean; table: Html }>;

/** Reads and renders the page of a list that the address names. */
export async function showList<At extends StoreAt | null, Row>(
  listing: Listing<At, Row>,
  visit: Visit<At>,
): Promise<ListShown> {
  const { params, query, words } = visit;
  const path = filled(listing.path, params);
  const fields = (await listing.fields?.(visit)) ?? [];
  const chosen = readChosen(fields, query);
  const after = query.get('before');
  const { rows, goOn } = await listing.read(visit, chosen, after, PAGE_ROWS);
  const [isFirst, isLimited] = [after === null, Object.keys(chosen).length > 0];
  const table = list({
    caption: listing.caption(visit),
    columns: await listing.columns(visit, rows),
    rows,
    empty: listing.empty(visit, goOn !== null ? 'rest' : isLimited || !isFirst ? 'no match' : 'nothing'),
  });
  const hasFile = listing.file !== undefined && may(visit, 'payments:export');
  return {
    form: fields.length === 0 ? null : limitForm(words, path, fields, chosen),
    ...{ isLimited, isFirst },
    table: html`${table}${pager(words, { path, chosen, isFirst, goOn, hasFile })}`,
  };
}

/** Cuts rows that were read with one more than a page has. @param idOf where the next page begins */
export function pageOf<Row>(found: readonly Row[], limit: number, idOf: (row: Row) => string | number): Rows<Row> {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, goOn: last === undefined ? null : String(idOf(last)) };
}

export type ListingWithFile<Row> = Listing<StoreAt, Row> & Required<Pick<Listing<StoreAt, Row>, 'file'>>;

/** Answers with a list as a file, which is recorded first. */
export async function answerFile<Row>(
  { database, clock }: Pick<DashboardDeps, 'database' | 'clock'>,
  listing: ListingWithFile<Row>,
  visit: Visit<StoreAt>,
): Promise<Reply> {
  const { at, query, visitor, nowMs, zone } = visit;
  const { file } = listing;
  const chosen = readChosen((await listing.fields?.(visit)) ?? [], query);
  const after = { mode: at.mode, ...(chosen as Readonly<Record<string, string>>) };
  const act = actOf(visitor.person, `export ${file.noun}`, clock);
  await database.audit.record(act, { target: at.storeId, before: null, after });
  const parts = writeSlices(clock, file.columns, async (place) => {
    const { rows, goOn } = await listing.read(visit, chosen, place, file.sliceRows);
    return { rows: await file.cells(rows), goOn };
  });
  const name = `${file.noun}-${at.storeId}-${at.mode}-${daysText(chosen, zone, nowMs)}.csv`;
  return { file: name, type: 'text/csv; charset=utf-8', parts };
}

/** Names the days of a file, with their zone, or the day on which it was made. */
function daysText({ from, to }: Chosen, zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
}

/** The end of the slice that was asked for last, in the whole installation. */
let turn: Promise<unknown> = Promise.resolve();

/** Does work once all that was asked for before is done. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work);
  turn = done.catch(() => undefined);
  return done;
}

/** Yields a file slice by slice; memory does not grow with its length. @param read returns the rows after a place */
export async function* writeSlices(
  clock: Pick<Clock, 'sleep'>,
  columns: readonly string[],
  read: (after: string | null) => Promise<Rows<Cells>>,
): AsyncGenerator<string> {
  const writer = rowWriter('csv', columns);
  yield writer.begin;
  for (let after: string | null = null; ; ) {
    const place: string | null = after;
    const { rows, goOn }: Rows<Cells> = await inTurn(async () => {
      const startedAtMs = performance.now();
      const slice = await read(place);
      await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * (performance.now() - startedAtMs)));
      return slice;
    });
    if (rows.length > 0) yield rows.map((cells) => writer.row(cells, false)).join('');
    if (goOn === null) return;
    after = goOn;
  }
}
