/** The books of a store as a file, for an accountant: the rows of `quayside export`. */
import { bookText } from '../../acts/books.ts';
import { type Chosen, dayFields, daysOf, readChosen } from '../../web/filters.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';

export const BOOKS_PATH = '/s/:store/:mode/books.csv';

/** The pause after a page of entries, as often as long as it took to read: payers' pages share thread and database. */
const PAUSE_FACTOR = 2;
/** Shorter pauses would not let others begin. */
const PAUSE_MS_MIN = 4;

export const bookPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: BOOKS_PATH,
  needs: 'payments:export',
  answer: (visit) => bookFile(deps, visit),
});

/** Answers with the books of the days that the address names, which is recorded first. */
async function bookFile(
  deps: DashboardDeps,
  { at: { storeId, mode }, query, visitor, nowMs, zone, words }: Visit<StoreAt>,
): Promise<Reply> {
  const { database, clock } = deps;
  const days = readChosen(dayFields(words), query);
  const { fromMs, toMs } = daysOf(days, zone);
  const after = { mode, ...(days as Readonly<Record<string, string>>) };
  await database.audit.record(actOf(visitor.person, 'export books', clock), { target: storeId, before: null, after });
  const filter = { fromMs: fromMs ?? 0, toMs: toMs ?? nowMs + 1, storeId };
  let startedAtMs = performance.now();
  const parts = bookText(deps, filter, mode, async () => {
    await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * (performance.now() - startedAtMs)));
    startedAtMs = performance.now();
  });
  return {
    file: `books-${storeId}-${mode}-${daysText(days, zone, nowMs)}.csv`,
    type: 'text/csv; charset=utf-8',
    parts,
  };
}

/** Names the days of a file, with their zone, or the day on which it was made. */
function daysText({ from, to }: Chosen, zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
}
