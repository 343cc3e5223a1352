/**
 * Lists: fields that limit them, which live in the address; pages, the newest first; and the same rows as a CSV file,
 * which is read in slices with pauses, because payers' pages are served by the same thread and database.
 */
import { isAllowed } from '../core/access.ts';
import type { Clock } from '../lib/clock.ts';
import { type Cells, rowWriter } from '../lib/export-text.ts';
import { type Html, html } from '../lib/html.ts';
import { datePlus, startOfDayMs, UTC } from '../lib/zone.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import type { Reply, StoreAt, Visit } from './page.ts';
import type { Words } from './texts.ts';

const PAGE_ROWS = 50;
/** In the whole installation; others are asked to wait. */
const FILES_AT_ONCE_MAX = 2;
/** The pause after a slice, as often as long as it took to read: a file takes a third of the thread at most. */
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
  (['from', 'to'] as const).map((name) => ({
    ...{ name, label: words.say(`payments.${name}`), type: 'date', charsMax: 10 },
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
        ? html`<select name="${field.name}"><option value="">${words.say('general.any')}</option>${field.choices.map(
            ([one, text, isData]) =>
              html`<option value="${one}"${one === value ? html` selected` : null}${isData ? html` translate="no"` : null}>${text}</option>`,
          )}</select>`
        : html`<input type="${field.type}" name="${field.name}" value="${value}" maxlength="${field.charsMax}" dir="auto" autocomplete="off" spellcheck="false">`;
    return html`<label>${field.label} ${input}</label>`;
  })}
<button class="plain">${words.say('general.show')}</button></form>`;

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
  /** Query fields of the next page's address; null on the last one. */
  older: Readonly<Record<string, string>> | null;
  /** Whether there is a file of it, for this visitor. */
  hasFile?: boolean;
}>;

/** Renders the links to the newest of a list, to what is older, and to the list as a file. */
export function pager(words: Words, { path, chosen, isFirst, older, hasFile = false }: Pager): Html {
  const all = Object.keys(chosen).length === 0 ? 'payments.csv_all' : 'payments.csv_these';
  return html`<p class="pager">${isFirst ? null : html`<a href="${path}${queryOf(chosen)}">${words.say('general.newest')}</a>`}
${older && html`<a href="${path}${queryOf(chosen, older)}" rel="next">${words.say('general.older')}</a>`}
${hasFile ? html`<a href="${path}.csv${queryOf(chosen)}">${words.say(all)}</a>` : null}</p>`;
}

/** Rows, the newest first, and where the next ones begin; null at the end. */
export type Rows<Row> = Readonly<{ rows: readonly Row[]; goOn: string | null }>;

/** A list that has a page; that of a store may have a file. */
export type Listing<At extends StoreAt | null, Row> = Readonly<{
  title(visit: Visit<At>): string;
  fields(visit: Visit<At>): Promise<readonly Field[]> | readonly Field[];
  /** Returns the rows after a place, which comes from the address: of one that cannot be, the newest. */
  read(visit: Visit<At>, chosen: Chosen, after: string | null, limit: number): Promise<Rows<Row>>;
  table(visit: Visit<At>, rows: readonly Row[]): Promise<Html> | Html;
  /** Text for an empty list: `rest` where older rows may match. */
  empty(visit: Visit<At>, why: 'nothing' | 'no match' | 'rest'): Html | string;
  /** Renders what stands above the list, with the form that limits it. */
  above?(visit: Visit<At>, form: Html, isLimited: boolean): Html;
  file?: Readonly<{
    /** Contents of the file, for its name and for the audit log. */
    noun: string;
    columns: readonly string[];
    cells(rows: readonly Row[]): Promise<readonly Cells[]>;
    /** Rows that are read at once. */
    sliceRows: number;
  }>;
}>;

/** Answers with the page of a list. */
export async function listPage<At extends StoreAt | null, Row>(
  listing: Listing<At, Row>,
  visit: Visit<At>,
): Promise<Reply> {
  const { at, visitor, path, query, words } = visit;
  const fields = await listing.fields(visit);
  const chosen = readChosen(fields, query);
  const after = query.get('before');
  const { rows, goOn } = await listing.read(visit, chosen, after, PAGE_ROWS);
  const isLimited = Object.keys(chosen).length > 0;
  const form = limitForm(words, path, fields, chosen);
  const why = goOn !== null ? 'rest' : isLimited || after !== null ? 'no match' : 'nothing';
  const older = goOn === null ? null : { before: goOn };
  const shown =
    rows.length > 0 ? await listing.table(visit, rows) : html`<p class="card">${listing.empty(visit, why)}</p>`;
  const mayExport = at !== null && isAllowed(visitor.person.memberships, { permission: 'payments:export', ...at });
  const hasFile = listing.file !== undefined && mayExport;
  return {
    title: listing.title(visit),
    content: html`${listing.above ? listing.above(visit, form, isLimited) : form}${shown}
${pager(words, { path, chosen, isFirst: after === null, older, hasFile })}`,
  };
}

export type ListingWithFile<Row> = Listing<StoreAt, Row> & Required<Pick<Listing<StoreAt, Row>, 'file'>>;

/** Answers with a list as a file, which is recorded first; or asks to wait. */
export type AnswerFile = <Row>(listing: ListingWithFile<Row>, visit: Visit<StoreAt>) => Promise<Reply>;

/** Creates what answers with files. */
export function createFiles({ database, clock }: Pick<DashboardDeps, 'database' | 'clock'>): AnswerFile {
  let running = 0;
  return async (listing, visit) => {
    const { at, path, query, visitor, nowMs, zone, words } = visit;
    const { file } = listing;
    const chosen = readChosen(await listing.fields(visit), query);
    if (running >= FILES_AT_ONCE_MAX) {
      const back = html`<a href="${path.replace(/\.csv$/, '')}${queryOf(chosen)}">${listing.title(visit)}</a>`;
      const content = html`<p class="card">${words.html('payments.exports_text', { back })}</p>`;
      return { title: words.say('payments.exports_title'), content, status: 503 };
    }
    running++;
    const end = () => {
      running--;
    };
    try {
      const after = { mode: at.mode, ...(chosen as Readonly<Record<string, string>>) };
      const entry = { target: at.storeId, before: null, after };
      await database.audit.record(actOf(visitor.person, `export ${file.noun}`, clock), entry);
    } catch (error) {
      end();
      throw error;
    }
    const parts = writeSlices(clock, file.columns, async (after) => {
      const { rows, goOn } = await listing.read(visit, chosen, after, file.sliceRows);
      return { rows: await file.cells(rows), goOn };
    });
    const type = 'text/csv; charset=utf-8';
    const name = `${file.noun}-${at.storeId}-${at.mode}-${daysText(chosen, zone, nowMs)}.csv`;
    return { file: name, type, parts, end };
  };
}

/** Names the days of a file, with their zone, or the day on which it was made. */
function daysText({ from, to }: Chosen, zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
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
    const startedAtMs = performance.now();
    const { rows, goOn }: Rows<Cells> = await read(after);
    const text = rows.map((cells) => writer.row(cells, false)).join('');
    const tookMs = performance.now() - startedAtMs;
    if (text !== '') yield text;
    if (goOn === null) return;
    after = goOn;
    await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * tookMs));
  }
}
