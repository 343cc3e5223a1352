/**
 * Lists, facts and figures: the shapes that every page is made of. Texts come from the page.
 */
import { type Html, html } from '../lib/html.ts';

type Cell = Html | string | null;

/**
 * A column. A phone's card begins with the cells that lead; numbers stand at the end of their column; `newest`: the
 * column of the times by which the newest comes first.
 */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => Cell,
  kind?: 'number' | 'lead' | 'number lead' | 'newest',
];

type List<Row> = Readonly<{
  /** The list's name for screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Stands there instead while there are no rows: why, and what to do. */
  empty: Html | string;
}>;

/** Renders rows as a table, whose rows become cards on a phone; each cell is labelled there by its column. */
export function list<Row>({ caption, columns, rows, empty }: List<Row>): Html {
  if (rows.length === 0) return html`<p class="card empty">${empty}</p>`;
  const look = (kind: Column<Row>[2]): Html | null =>
    kind === undefined || kind === 'newest' ? null : html` class="${kind}"`;
  const sorted = (kind: Column<Row>[2]): Html | null => (kind === 'newest' ? html` aria-sort="descending"` : null);
  return html`<table>
<caption class="unseen">${caption}</caption>
<thead><tr>${columns.map(([title, , kind]) => html`<th scope="col"${look(kind)}${sorted(kind)}>${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map(([title, cell, kind]) => html`<td data-label="${title}"${look(kind)}>${cell(row)}</td>`)}</tr>`,
  )}</tbody>
</table>`;
}

type Pair = readonly [name: Html | string, value: Html | string];

const pairs = (look: string, all: readonly (Pair | null)[]): Html =>
  html`<dl class="${look}">${all.map((pair) => pair && html`<div><dt>${pair[0]}</dt><dd>${pair[1]}</dd></div>`)}</dl>`;

/** Names and values, one a line; null is left out. */
export const facts = (all: readonly (Pair | null)[]): Html => pairs('facts', all);

/** Numbers side by side, each with its name. */
export const figures = (all: readonly (Pair | null)[]): Html => pairs('figures', all);

/** A part of a page with its own heading. `look`: `card` for one on a card of its own. */
export const section = (id: string, title: Html | string, content: Html, look: 'card' | 'plain' = 'card'): Html =>
  html`<section class="${look}" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`;
