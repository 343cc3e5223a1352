/**
 * The list of payments as CSV, read in slices with pauses: payers' pages are served by the same thread and database.
 * @module
 */
import { formatUnits } from '../core/money.ts';
import type { Database, SessionSummary } from '../database/database.ts';
import type { SessionFilter } from '../database/session-lists.ts';
import type { Clock } from '../lib/clock.ts';
import { type Cells, rowWriter } from '../lib/export-text.ts';
import { exponentOf } from '../rates/currencies.ts';
import { coins, oddities } from './show.ts';

/** Sessions that are read at once: some 3 ms of the thread. */
const SLICE_ROWS = 50;
/** After each slice; an export takes half of the thread at most. */
const PAUSE_MS = 4;

const columns = [
  ...['created', 'session', 'order', 'mode', 'status', 'flags', 'description', 'amount', 'currency', 'rate', 'due'],
  ...['received', 'late', 'expires', 'paid'],
];

const isoTime = (s: number): string => new Date(s * 1000).toISOString();

function cellsOf(session: SessionSummary): Cells {
  const { request, life, standing, terms, conversion } = session;
  const exponent = exponentOf(request.currency) ?? 0;
  return [
    ...[isoTime(session.createdAtS), session.id, request.orderId, session.mode, life.status],
    ...[oddities(session).join(', ').replaceAll('_', ' ') || null, request.description ?? null],
    ...[formatUnits(request.amountMinor, exponent, exponent), request.currency, conversion?.rate ?? null],
    ...[coins(terms.duePar), coins(standing.confirmedPar), coins(standing.latePar)],
    ...[isoTime(terms.expiresAtS), life.paidAtS === null ? null : isoTime(life.paidAtS)],
  ];
}

/** Yields the file slice by slice, newest first; memory does not grow with its length. */
export async function* exportPayments(
  { database, clock }: Readonly<{ database: Pick<Database, 'listSessions'>; clock: Pick<Clock, 'sleep'> }>,
  filter: SessionFilter,
): AsyncGenerator<string> {
  const writer = rowWriter('csv', columns);
  yield writer.begin;
  for (let beforeId: string | null = null; ; ) {
    const page: Awaited<ReturnType<Database['listSessions']>> = await database.listSessions({
      ...filter,
      beforeId,
      limit: SLICE_ROWS,
    });
    if (page.sessions.length > 0) yield page.sessions.map((session) => writer.row(cellsOf(session), false)).join('');
    if (page.goOnId === null) return;
    beforeId = page.goOnId;
    await clock.sleep(PAUSE_MS);
  }
}
