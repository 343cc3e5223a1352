/** The books of a store as files, for an accountant: the rows of `quayside export`. */
import { cellsOf, columnsOf } from '../../acts/books.ts';
import { BOOK_PAGE_ENTRIES, type BookFilter } from '../../database/reports.ts';
import { rowWriter } from '../../lib/export-text.ts';
import { type Chosen, dayFields, daysOf, readChosen } from '../../web/filters.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';

const kinds = ['payments', 'refunds'] as const;

/** The pause after a page of entries, as often as long as it took to read: payers' pages share thread and database. */
const PAUSE_FACTOR = 2;
/** Shorter pauses would not let others begin. */
const PAUSE_MS_MIN = 4;

export const bookPages = (deps: DashboardDeps): readonly StorePage[] =>
  kinds.map((kind) => ({
    ...{ method: 'get', path: `/s/:store/:mode/${kind}.csv`, needs: 'payments:export' },
    answer: (visit) => bookFile(deps, visit, kind),
  }));

/** Answers with a book of the days that the address names, which is recorded first. */
async function bookFile(
  deps: DashboardDeps,
  { at, query, visitor, nowMs, zone, words }: Visit<StoreAt>,
  kind: (typeof kinds)[number],
): Promise<Reply> {
  const { storeId, mode } = at;
  const days = readChosen(dayFields(words), query);
  const { fromMs, toMs } = daysOf(days, zone);
  const after = { mode, ...(days as Readonly<Record<string, string>>) };
  const entry = { target: storeId, before: null, after };
  await deps.database.audit.record(actOf(visitor.person, `export ${kind}`, deps.clock), entry);
  const filter = { kind, fromMs: fromMs ?? 0, toMs: toMs ?? nowMs + 1, storeId };
  const name = `${kind}-${storeId}-${mode}-${daysText(days, zone, nowMs)}.csv`;
  return { file: name, type: 'text/csv; charset=utf-8', parts: writeBook(deps, mode, filter) };
}

/** Names the days of a file, with their zone, or the day on which it was made. */
function daysText({ from, to }: Chosen, zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
}

/** Yields a book page by page; memory does not grow with its length. */
async function* writeBook(
  { database, config, clock }: DashboardDeps,
  mode: StoreAt['mode'],
  filter: BookFilter,
): AsyncGenerator<string> {
  const writer = rowWriter('csv', columnsOf[filter.kind]);
  yield writer.begin;
  for (const { network, entry: through } of await database.reports.newestEntries()) {
    for (let after = 0; network.startsWith(`${mode}:`) && after < through; after += BOOK_PAGE_ENTRIES) {
      const startedAtMs = performance.now();
      const page = await database.reports.bookPage(filter, network, after);
      await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * (performance.now() - startedAtMs)));
      const rows = page.map((booked) => writer.row(cellsOf(filter.kind, booked, config.networks), false));
      if (rows.length > 0) yield rows.join('');
    }
  }
}
