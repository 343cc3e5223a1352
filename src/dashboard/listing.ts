/**
 * Lists that have a page: the rows that its address names.
 */
import { type Html, html } from '../lib/html.ts';
import { type Chosen, type Field, limitForm, pager, type Rows, readChosen } from '../web/filters.ts';
import { type Column, list } from '../web/list.ts';
import { filled, may, type StoreAt, type Visit } from './page.ts';
import type { Words } from './texts.ts';

const PAGE_ROWS = 50;

/** A list that has a page. */
export type Listing<At extends StoreAt | null, Row> = Readonly<{
  /** The path of its page. */
  path: string;
  caption(visit: Visit<At>): string;
  /** Fields that limit it. */
  fields?(visit: Visit<At>): Promise<readonly Field[]> | readonly Field[];
  /** Returns the rows after a place, which comes from the address: of one that cannot be, the newest. */
  read(visit: Visit<At>, chosen: Chosen, after: string | null, limit: number): Promise<Rows<Row>>;
  columns(visit: Visit<At>, rows: readonly Row[]): Promise<readonly Column<Row>[]> | readonly Column<Row>[];
  /** Stands there while nothing is in the list: why, and what to do. */
  empty(visit: Visit<At>): Html | string;
  /** The path of a file of the same days, for who may export payments. */
  file?: string;
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
    empty: goOn === null && isFirst && !isLimited ? listing.empty(visit) : noMatch(words, path, goOn !== null),
  });
  const isOfDays = Object.keys(chosen).every((name) => name === 'from' || name === 'to');
  const hasFile = listing.file !== undefined && isOfDays && may(visit, 'payments:export');
  const file = hasFile ? filled(listing.file ?? '', params) : null;
  return {
    form: fields.length === 0 ? null : limitForm(words, path, fields, chosen),
    isLimited,
    isFirst,
    table: html`${table}${pager(words, { path, chosen, isFirst, goOn, file })}`,
  };
}

/** An empty part of a list is never shown as its end, nor an empty result as an empty list. */
const noMatch = (words: Words, path: string, hasOlder: boolean): Html | string =>
  hasOlder
    ? words.say('Nothing here yet; older ones may match.')
    : words.html('Nothing matches. {all}', { all: html`<a href="${path}">${words.say('Show all')}</a>` });
