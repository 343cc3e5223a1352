/**
 * Exports the books for an accountant, each row one posting of the ledger.
 */
import { resolve } from 'node:path';
import { cellsOf, columnsOf } from '../../src/acts/books.ts';
import { parseTime } from '../../src/acts/times.ts';
import { BOOK_PAGE_ENTRIES, type BookFilter, type BookKind, type NewestEntry } from '../../src/database/reports.ts';
import { rowWriter } from '../../src/lib/export-text.ts';
import { type Command, type Input, type Installation, notFound, textOption, usage } from './command.ts';
import { progressBar, toNewFile } from './output.ts';

/** What each file has. */
const kinds: Readonly<Record<BookKind, string>> = {
  payments: 'credited payments, and what reorgs took back, with their value and transaction',
  refunds: 'what was paid back: refunds and returns of held money',
  sweeps: 'what was swept to the treasury',
  fees: 'what transactions cost, in native coin',
  adjustments: 'what left the refund and gas wallets without a payout, with the reason an operator gave',
};

export const exportBooks: Command = {
  name: 'export',
  args: '<what>',
  summary: `Export the books for an accountant: ${Object.keys(kinds).join(', ')}.`,
  options: {
    from: { value: 'TIME', help: 'booked from this time on: `30d`, `2026-11-01` or `2026-11-01T10:00:00Z` (UTC)' },
    to: { value: 'TIME', help: 'booked before this time (default: now)' },
    store: { value: 'ID', help: 'only what belongs to sessions of this store' },
    output: { value: 'FILE', help: 'a new file that only you can read: FILE.csv or FILE.json', isRequired: true },
  },
  notes: [
    ...Object.entries(kinds).map(([kind, what]) => `${kind}: ${what}.`),
    'The time is when the ledger booked it: for a payment, when it was credited. A month is --from 2026-11-01 --to',
    '2026-12-01. Rows are never changed later: a reorg adds a row with the amount below zero. docs/reference/exports.md',
    'describes the columns. Rows are CSV with a header, or a JSON array.',
  ],
  async run(input, installation) {
    const { database, clock } = installation;
    const [kind = ''] = input.args;
    if (!isKind(kind)) throw usage(`"${kind}" is no book, expected ${Object.keys(kinds).join(', ')}`);
    const filter: BookFilter = {
      kind,
      fromMs: readMoment(input, 'from', clock.nowMs()) ?? 0,
      toMs: readMoment(input, 'to', clock.nowMs()) ?? clock.nowMs(),
      storeId: await storeId(input, installation),
    };
    if (filter.toMs < filter.fromMs) throw usage('--to is before --from');
    const file = resolve(input.cwd, textOption(input, 'output') ?? '');
    const writer = rowWriter(file.endsWith('.json') ? 'json' : 'csv', columnsOf[kind]);
    const counted = { rows: 0 };
    const newest = await database.reports.newestEntries();
    await toNewFile(exportText(input, installation, filter, writer, counted, newest), file);
    return { json: { kind, rows: counted.rows, file }, lines: [`${counted.rows} ${kind} written to ${file}`] };
  },
};

const isKind = (text: string): text is BookKind => Object.hasOwn(kinds, text);

/**
 * Returns an option's time in milliseconds, or null if it was not given: a date or time (UTC), or how long before now.
 * @throws Fault permanent `usage`
 */
function readMoment(input: Input, name: string, nowMs: number): number | null {
  const text = textOption(input, name);
  if (text === undefined) return null;
  const ms = parseTime(text, nowMs);
  if (ms >= 0) return ms;
  throw usage(`--${name} is "${text}", expected a time such as 30d, 2026-11-01 or 2026-11-01T10:00:00Z (UTC)`);
}

async function storeId(input: Input, { database }: Installation): Promise<string | null> {
  const id = textOption(input, 'store');
  if (id === undefined) return null;
  if (await database.stores.find(id)) return id;
  throw notFound(`there is no store ${id}; \`quayside status\` shows all`);
}

/**
 * Yields the file page by page; memory does not grow with its length.
 * @param newest the last entry to look at, of each network
 */
async function* exportText(
  { progress }: Pick<Input, 'progress'>,
  { database, config }: Installation,
  filter: BookFilter,
  writer: ReturnType<typeof rowWriter>,
  counted: { rows: number },
  newest: readonly NewestEntry[],
): AsyncGenerator<string> {
  const entries = newest.reduce((sum, { entry }) => sum + entry, 0);
  let done = 0;
  yield writer.begin;
  for (const { network, entry: through } of newest) {
    for (let after = 0; after < through; after += BOOK_PAGE_ENTRIES) {
      const page = (await database.reports.bookPage(filter, network, after)).filter(({ entry }) => entry <= through);
      const rows = page.map((booked) =>
        writer.row(cellsOf(filter.kind, booked, config.networks), counted.rows++ === 0),
      );
      done += Math.min(through - after, BOOK_PAGE_ENTRIES);
      progress.show(progressBar(`exporting ${filter.kind}`, done, entries, `${counted.rows} rows`));
      if (rows.length > 0) yield rows.join('');
    }
  }
  yield writer.end;
}
