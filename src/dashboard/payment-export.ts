/**
 * The list of payments as CSV.
 * @module
 */
import { formatUnits } from '../core/money.ts';
import type { Database, SessionSummary } from '../database/database.ts';
import type { SessionFilter } from '../database/session-lists.ts';
import type { Clock } from '../lib/clock.ts';
import type { Cells } from '../lib/export-text.ts';
import { exponentOf } from '../rates/currencies.ts';
import { writeSlices } from './export.ts';
import { coins, oddities } from './show.ts';

/** Sessions that are read at once: some 3 ms of the thread. */
const SLICE_ROWS = 50;

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

/** Yields the file, newest first. */
export const exportPayments = (
  { database, clock }: Readonly<{ database: Pick<Database, 'listSessions'>; clock: Pick<Clock, 'sleep'> }>,
  filter: SessionFilter,
): AsyncGenerator<string> =>
  writeSlices(clock, columns, async (beforeId: string | null) => {
    const { sessions, goOnId } = await database.listSessions({ ...filter, beforeId, limit: SLICE_ROWS });
    return { rows: sessions.map(cellsOf), goOn: goOnId };
  });
