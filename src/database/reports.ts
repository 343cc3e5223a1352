/** Figures of a store over periods. They are computed from the rows of the period, which an index finds. */
import { type SessionStatus, sessionStatuses } from '../core/event.ts';
import type { Intent } from '../core/intent.ts';
import type { EntryKind } from '../core/ledger.ts';
import { toPar } from '../core/money.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import { firstSessionId } from '../lib/id.ts';
import type { BlockRow } from './blocks.ts';
import { mapInOrder } from './engine/bodies.ts';
import { readSessionTerms } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';
import { LAST_RUN, readMeta } from './meta.ts';
import type { RefundRow } from './refunds/refund.ts';
import type { SessionRow } from './session.ts';
import type { ledgerEntries, ledgerPostings } from './tables.ts';
import type { TransferRow } from './transfers.ts';

/**
 * Entries of a period in one currency. `credits`: number of transfers credited to sessions. `par`: their value at par
 * (18 decimals), less reversals by reorgs of these or earlier ones.
 */
export type CreditTotal = Readonly<{ currency: Currency; credits: number; par: bigint }>;

type At = Readonly<{ storeId: string; mode: Mode }>;

/** SQL for the transfer of a payment's entry `e`. Causes of other entries are no numbers. */
export const paidTransfer = "CASE WHEN e.kind IN ('payment', 'payment_reversed') THEN CAST(e.cause AS BIGINT) END";

/** Postings to `received` are negative in the ledger. */
const creditsOfPeriod = `
  SELECT p.asset AS currency, t.decimals, count(*) FILTER (WHERE e.kind = 'payment') AS credits, sum_units(p.units) AS units
  FROM ledger_entries AS e
  JOIN ledger_postings AS p ON p.network = e.network AND p.seq = e.seq AND p.account = 'received'
  JOIN transfers AS t ON t.id = ${paidTransfer}
  WHERE e.store_id = :storeId AND e.mode = :mode AND e.at_ms >= :fromMs AND e.at_ms < :toMs
  GROUP BY p.asset, t.decimals`;

type CreditRow = Pick<CreditTotal, 'currency' | 'credits'> & Readonly<{ decimals: number; units: string }>;

export function creditQueries({ client, read }: Db) {
  return {
    /**
     * Returns a store's totals of each period between one time and the next, by currency and decimals.
     * @param timesMs the limits of the periods, ascending
     */
    async sumCredits({ storeId, mode }: At, timesMs: readonly number[]): Promise<readonly (readonly CreditTotal[])[]> {
      const summed = client.prepare<CreditRow>(creditsOfPeriod);
      return read(() =>
        mapInOrder(timesMs.slice(1), async (toMs, at) => {
          const period = { storeId, mode, fromMs: timesMs[at] ?? toMs, toMs };
          const rows = await summed.all(period);
          return rows.map(({ currency, credits, decimals, units }) => ({
            currency,
            credits,
            par: -toPar(BigInt(units), decimals),
          }));
        }),
      );
    },
    /** Returns whether any money was ever credited to the store's sessions of this mode. */
    async hasCredits({ storeId, mode }: At): Promise<boolean> {
      const first = client.prepare('SELECT 1 FROM ledger_entries WHERE store_id = ? AND mode = ? LIMIT 1');
      return read(async () => (await first.get(storeId, mode)) !== undefined);
    },
  };
}

// ── Counts behind the metrics ────────────────────────────────────────────────────────────────────────────────────────
/** Most sessions of one status that are counted, so that the cost has a limit. */
const SESSIONS_COUNTED_MAX = 10_000;

/** Returns the query of the counts behind the metrics. */
export function statsQuery(db: Db) {
  const { client, read } = db;
  const countSessions = client.values<number>(
    `SELECT count(*) FROM (
         SELECT 1 FROM sessions
         WHERE store_id IN (SELECT id FROM stores) AND mode IN ('live', 'test') AND status = ? AND id >= ? LIMIT ?
       ) AS limited`,
  );
  const sessionsOf = async (status: SessionStatus, fromId: string) =>
    (await countSessions.get(status, fromId, SESSIONS_COUNTED_MAX)) ?? 0;
  // Waiting deliveries have an index of their own. The index by event would visit each delivered one too.
  const waiting = 'FROM deliveries WHERE due_at_ms IS NOT NULL';
  const oldestWaiting = `SELECT created_at_ms FROM events WHERE id = (SELECT min(event_id + 0) ${waiting})`;
  const one = (text: string) => client.values<number>(text).get();
  return (nowMs: number) =>
    read(async () => {
      const oldestMs = await one(oldestWaiting);
      const lastRun = await readMeta(db, LAST_RUN);
      return {
        // The time at which old data was last removed; null if never.
        retentionAtMs: lastRun === null ? null : Number(lastRun),
        sessions: Object.fromEntries(
          await mapInOrder(sessionStatuses, async (status) => [status, await sessionsOf(status, '')]),
        ),
        paidOfDay: await sessionsOf('paid', firstSessionId(nowMs - DAY_MS)),
        deliveriesWaiting: (await one(`SELECT count(*) ${waiting}`)) ?? 0,
        heldOpen: (await one(`SELECT count(*) FROM held_money WHERE state = 'open'`)) ?? 0,
        oldestWaitingMs: oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs),
      };
    });
}

// ── Entries for accounting ───────────────────────────────────────────────────────────────────────────────────────────
// Each page is a separate read, so that a long export holds no transaction open.

/** Most entries that one page reads. It skips those of another time, or of no book. */
export const BOOK_PAGE_ENTRIES = 2_000;

/**
 * One posting with the rows that it is about; null where it has none. `units` are base units. They are negative if the
 * entry takes back an earlier one, or moves its money to another session.
 */
export type Booked = Pick<typeof ledgerEntries.$inferSelect, 'kind' | 'cause' | 'atMs' | 'network' | 'reason'> &
  Pick<typeof ledgerPostings.$inferSelect, 'asset' | 'units'> &
  OrNull<Pick<SessionRow, 'storeId' | 'orderId' | 'currency' | 'createdAtMs'>> &
  OrNull<Pick<TransferRow, 'tx' | 'position' | 'decimals' | 'fromKey'>> &
  OrNull<Pick<BlockRow, 'hash' | 'number' | 'timeS'>> &
  OrNull<Pick<RefundRow, 'refundId' | 'receiptNumber' | 'destination' | 'heldKind'>> &
  Readonly<{
    /** The entry's number on its network. */
    entry: number;
    /** The entry that this one takes back. */
    reverses: number | null;
    sessionId: string | null;
    /** The rate that was locked at the session's creation; null at par. */
    rate: string | null;
    toKey: string | null;
    /** The kind of a payout, for an entry of money out. */
    payoutKind: Intent['kind'] | null;
  }>;

type OrNull<T> = Readonly<{ [Name in keyof T]: T[Name] | null }>;

export type BookFilter = Readonly<{
  /** First booking time, in Unix ms. */
  fromMs: number;
  /** Booking times end before it. */
  toMs: number;
  /** Limits the page to entries of this store's sessions; null for all entries. */
  storeId: string | null;
}>;

type Row = Omit<Booked, 'units' | 'rate'> & Readonly<{ units: string; terms: string | null }>;

/** The account whose postings contain an entry's amount, their sign, and the SQL for the entry's session. */
type Book = Readonly<{ account: string; sign: 1n | -1n; session: string }>;

const collected: Book = {
  account: 'collected',
  sign: 1n,
  session: `(SELECT o.subject FROM ledger_postings AS o WHERE o.network = e.network AND o.seq = e.seq AND o.account = 'received')`,
};
const refunded: Book = { account: 'refunded', sign: -1n, session: 'p.subject' };

/** The kinds of entries that are in the books. The other kinds move money between our own accounts. */
const booksOf: Readonly<Partial<Record<EntryKind, Book>>> = {
  payment: collected,
  payment_reversed: collected,
  refund_paid: refunded,
  refund_matched: refunded,
  sweep_done: { account: 'treasury', sign: 1n, session: 'NULL' },
  fee: { account: 'fees', sign: 1n, session: 'y.session_id' },
  adjustment: { account: 'adjusted', sign: 1n, session: 'NULL' },
};

/** Returns SQL that chooses a text by the entry's book. */
const byKind = (write: (book: Book) => string): string =>
  `CASE e.kind ${Object.entries(booksOf)
    .map(([kind, book]) => `WHEN '${kind}' THEN ${write(book)}`)
    .join(' ')} END`;

/** SQL for a page. A fee's occurrence is the generation of its payout. */
const bookPage = `
  SELECT e.seq AS entry, e.kind, e.cause, e.at_ms AS "atMs", e.reason, p.network, p.asset, p.units,
    coalesce(t.tx, CASE e.kind WHEN 'fee' THEN (
      SELECT a.tx FROM payout_attempts AS a
      WHERE a.payout_id = e.cause AND a.generation = e.occurrence AND a.fee_units IS NOT NULL LIMIT 1
    ) END, y.tx) AS tx,
    CASE e.kind WHEN 'payment_reversed' THEN (
      SELECT c.seq FROM ledger_entries AS c WHERE c.cause = e.cause AND c.kind = 'payment' AND c.occurrence = e.occurrence
    ) END AS reverses,
    s.id AS "sessionId", s.store_id AS "storeId", s.order_id AS "orderId", s.currency, s.terms, s.created_at_ms AS "createdAtMs",
    t.position, t.decimals, t.from_key AS "fromKey", d.key AS "toKey",
    b.hash, b.number, b.time_s AS "timeS",
    r.refund_id AS "refundId", r.receipt_number AS "receiptNumber", r.destination, r.held_kind AS "heldKind",
    y.kind AS "payoutKind"
  FROM ledger_entries AS e
  JOIN ledger_postings AS p ON p.network = e.network AND p.seq = e.seq
    AND p.account = ${byKind(({ account }) => `'${account}'`)}
  LEFT JOIN transfers AS t ON t.id = ${paidTransfer}
  LEFT JOIN blocks AS b ON b.id = t.block_id
  LEFT JOIN addresses AS d ON d.id = t.address_id
  LEFT JOIN payouts AS y ON t.id IS NULL AND y.id = e.cause
  LEFT JOIN refunds AS r ON t.id IS NULL AND r.id = e.cause
  LEFT JOIN sessions AS s ON s.id = ${byKind(({ session }) => session)}
  WHERE e.network = :network AND e.seq > :after AND e.seq <= :through
    AND e.at_ms >= :fromMs AND e.at_ms < :toMs AND (CAST(:storeId AS TEXT) IS NULL OR s.store_id = :storeId)
  ORDER BY e.seq, p.subject`;

export function bookQueries(db: Db) {
  return {
    /** Returns the number of the newest entry of each network with entries. */
    async newestEntries() {
      const query = `SELECT substr(owner, length('ledger:') + 1) AS network, last AS entry FROM counters
        WHERE owner >= 'ledger:' AND owner < 'ledger;'`;
      return db.read(() => db.client.prepare<Pick<Booked, 'network' | 'entry'>>(query).all());
    },
    /** Returns the matches among a network's `BOOK_PAGE_ENTRIES` entries after the entry `after`, in order. */
    async bookPage(filter: BookFilter, network: NetworkKey, after: number): Promise<readonly Booked[]> {
      const page = { ...filter, network, after, through: after + BOOK_PAGE_ENTRIES };
      return db.read(async () => (await db.client.prepare<Row>(bookPage).all(page)).map(toBooked));
    },
  };
}

const toBooked = ({ units, terms, ...row }: Row): Booked => ({
  ...row,
  units: (booksOf[row.kind]?.sign ?? 1n) * BigInt(units),
  rate: terms === null ? null : (readSessionTerms(terms).conversion?.rate ?? null),
});
