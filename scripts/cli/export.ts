/** Exports the books for an accountant, each row one posting of the ledger. */
import { resolve } from 'node:path';
import { bookText } from '../../src/acts/books.ts';
import { parseTime } from '../../src/acts/times.ts';
import type { BookFilter } from '../../src/database/reports.ts';
import { type Command, type Input, type Installation, notFound, recordAnswer, textOption, usage } from './command.ts';
import { progressBar, toNewFile } from './output.ts';

export const exportBooks: Command = {
  name: 'export',
  summary: 'Export the books for an accountant: payments, refunds, sweeps, fees and adjustments.',
  options: {
    from: { value: 'TIME', help: 'booked from this time on: `30d`, `2026-11-01` or `2026-11-01T10:00:00Z` (UTC)' },
    to: { value: 'TIME', help: 'booked before this time (default: now)' },
    store: { value: 'ID', help: 'only what belongs to sessions of this store' },
    output: { value: 'FILE', help: 'a new file that only you can read, in CSV', isRequired: true },
  },
  notes: [
    'The time is when the ledger booked it: for a payment, when it was credited. A month is --from 2026-11-01 --to ' +
      '2026-12-01. Rows are never changed later: a reorg adds a row with the amount below zero. docs/reference/exports.md ' +
      'describes the kinds of rows and the columns.',
  ],
  async run(input, installation) {
    const { clock } = installation;
    const filter: BookFilter = {
      fromMs: readMoment(input, 'from', clock.nowMs()) ?? 0,
      toMs: readMoment(input, 'to', clock.nowMs()) ?? clock.nowMs(),
      storeId: await storeId(input, installation),
    };
    if (filter.toMs < filter.fromMs) throw usage('--to is before --from');
    const file = resolve(input.cwd, textOption(input, 'output') ?? '');
    let rows = 0;
    const text = bookText(installation, filter, null, (page) => {
      rows = page.rows;
      input.progress.show(progressBar('exporting', page.done, page.all, `${rows} rows`));
    });
    await toNewFile(text, file);
    return recordAnswer({ rows, file });
  },
};

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
