/**
 * The list of payments as CSV.
 */

import { minorText } from '../acts/refund-words.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../core/money.ts';
import type { EarlierRefund } from '../core/refund.ts';
import { currencies, nameOf } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { SessionSummary } from '../database/session.ts';
import type { SessionFilter } from '../database/session-lists.ts';
import type { Clock } from '../lib/clock.ts';
import type { Cells } from '../lib/export-text.ts';
import { exponentOf } from '../rates/currencies.ts';
import { writeSlices } from './export.ts';
import { confirmedByCoin, networksOf, refundedText } from './received.ts';
import { oddities } from './show.ts';

/** Sessions that are read at once: some 2 ms of the thread. */
const SLICE_ROWS = 25;

const columns = [
  ...['created', 'session', 'order', 'mode', 'status', 'flags', 'description', 'amount', 'currency'],
  ...['rate', 'rate_source', 'due', 'received', 'coins', ...currencies.map((one) => `received_${one.toLowerCase()}`)],
  ...['late', 'expires', 'paid', 'network', 'tx', 'refunded'],
];

/** Where the rate is from: `par` where one coin stands for one unit of the currency, else the sources of the median. */
const rateSource = ({ conversion }: SessionSummary): string =>
  conversion === null ? 'par' : (conversion.sources?.join(' + ') ?? 'locked');

const isoTime = (s: number): string => new Date(s * 1000).toISOString();

/** Of one payment; the CSV names no more. */
const TRANSACTIONS_MAX = 20;

const parText = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);

type More = Readonly<{ transactions: readonly string[]; refunds: readonly EarlierRefund[] }>;

function cellsOf(session: SessionSummary, { transactions, refunds }: More): Cells {
  const { request, life, standing, terms, conversion } = session;
  const exponent = exponentOf(request.currency) ?? 0;
  const received = confirmedByCoin(session);
  return [
    ...[isoTime(session.createdAtS), session.id, request.orderId, session.mode, life.status],
    ...[oddities(session).join(', ').replaceAll('_', ' ') || null, request.description ?? null],
    ...[formatUnits(request.amountMinor, exponent, exponent), request.currency],
    ...[conversion?.rate ?? null, rateSource(session), parText(terms.duePar), parText(standing.confirmedPar)],
    received.map(({ currency }) => currency).join(' + ') || null,
    ...currencies.map((one) => {
      const par = received.find(({ currency }) => currency === one)?.par;
      return par == null ? null : parText(par);
    }),
    ...[parText(standing.latePar), isoTime(terms.expiresAtS), life.paidAtS === null ? null : isoTime(life.paidAtS)],
    ...[networksOf(session).map(nameOf).join(' ') || null, transactions.join(' ') || null],
    refundedText(refunds, minorText) || null,
  ];
}

type Read = Pick<Database, 'sessions' | 'refunds'>;

/** Yields the file, newest first. */
export const exportPayments = (
  { database, clock }: Readonly<{ database: Read; clock: Pick<Clock, 'sleep'> }>,
  filter: SessionFilter,
): AsyncGenerator<string> =>
  writeSlices(clock, columns, async (beforeId: string | null) => {
    const { sessions, goOnId } = await database.sessions.list({ ...filter, beforeId, limit: SLICE_ROWS });
    const ids = sessions.map(({ id }) => id);
    const transactions = await database.sessions.transactionsOf(ids, TRANSACTIONS_MAX);
    const refunds = await database.refunds.ofSession(ids);
    const rows = sessions.map((session) =>
      cellsOf(session, {
        transactions: transactions.get(session.id) ?? [],
        refunds: refunds.get(session.id) ?? [],
      }),
    );
    return { rows, goOn: goOnId };
  });
