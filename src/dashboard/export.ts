/**
 * Lists as CSV files, read in slices with pauses: payers' pages are served by the same thread and database.
 */

import type { Clock } from '../lib/clock.ts';
import { type Cells, rowWriter } from '../lib/export-text.ts';
import { type Html, html } from '../lib/html.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import type { Reply, Visit } from './page.ts';

/** In the whole installation; others are asked to wait. */
const EXPORTS_AT_ONCE_MAX = 2;
/** The pause after a slice, as often as long as it took to read: an export takes a third of the thread at most. */
const PAUSE_FACTOR = 2;
/** Shorter pauses would not let others begin. */
const PAUSE_MS_MIN = 4;

/** Yields a file slice by slice; memory does not grow with its length. @param read returns the rows after a cursor */
export async function* writeSlices<Cursor>(
  clock: Pick<Clock, 'sleep'>,
  columns: readonly string[],
  read: (after: Cursor | null) => Promise<Readonly<{ rows: readonly Cells[]; goOn: Cursor | null }>>,
): AsyncGenerator<string> {
  const writer = rowWriter('csv', columns);
  yield writer.begin;
  for (let after: Cursor | null = null; ; ) {
    const startedAtMs = performance.now();
    const { rows, goOn }: Awaited<ReturnType<typeof read>> = await read(after);
    const text = rows.map((cells) => writer.row(cells, false)).join('');
    const tookMs = performance.now() - startedAtMs;
    if (text !== '') yield text;
    if (goOn === null) return;
    after = goOn;
    await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * tookMs));
  }
}

/** `name`: of the file, without its days; `back`: a link to the list, for who has to wait. */
export type Exported = Readonly<{
  name: string;
  /** What is done, for the audit log, and what it was limited to. */
  command: string;
  target: string;
  chosen: Readonly<Record<string, string>>;
  back: Html;
  parts: AsyncIterable<string>;
}>;

/** Answers with a file, which is recorded first; or asks to wait. */
export type StartExport = (visit: Visit<unknown>, exported: Exported) => Promise<Reply>;

/** Names the days of a file, with their zone, or the day on which it was made. */
function timeOf({ from, to }: Exported['chosen'], zone: string, nowMs: number): string {
  if (from === undefined || to === undefined) return `${new Date(nowMs).toISOString().slice(0, 10)}-utc`;
  return `${from}-to-${to}-${zone.toLowerCase().replaceAll(/[^a-z0-9+-]+/g, '-')}`;
}

/** Creates what all exports of the dashboard start with. */
export function createExports({ database, clock }: Pick<DashboardDeps, 'database' | 'clock'>): StartExport {
  let running = 0;
  return async ({ visitor, nowMs, zone, words }, { name, command, target, chosen, back, parts }) => {
    if (running >= EXPORTS_AT_ONCE_MAX) {
      const content = html`<p class="card">${words.html('payments.exports_text', { back })}</p>`;
      return { title: words.say('payments.exports_title'), content, status: 503 };
    }
    running++;
    const end = () => {
      running--;
    };
    try {
      await database.audit.record(actOf(visitor.person, command, clock), { target, before: null, after: chosen });
    } catch (error) {
      end();
      throw error;
    }
    return { file: `${name}-${timeOf(chosen, zone, nowMs)}.csv`, type: 'text/csv; charset=utf-8', parts, end };
  };
}
