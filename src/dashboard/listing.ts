/**
 * Lists that have a page: the rows that its address names, and the same rows as a CSV file.
 */
import type { Cells } from '../lib/export-text.ts';
import { type Html, html } from '../lib/html.ts';
import { type Chosen, type Field, limitForm, pager, type Rows, readChosen } from '../web/filters.ts';
import { type Column, list } from '../web/list.ts';
import { writeSlices } from '../web/slices.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import { filled, may, type Reply, type StoreAt, type Visit } from './page.ts';

const PAGE_ROWS = 50;

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
