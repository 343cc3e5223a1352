/**
 * The ledger's entries for accounting. Each page is a read of its own, so that a long export holds no transaction open.
 */

import type { HeldKind } from '../core/held-money.ts';
import type { Intent } from '../core/intent.ts';
import type { Asset, EntryKind } from '../core/ledger.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { readSessionTerms } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';
import { paidTransfer } from './reports.ts';

/**
 * - `payments`: money that was credited, and what reorgs took back.
 * - `refunds`: money that was paid back: refunds, and returns of held money.
 * - `sweeps`: money that reached the treasury. `fees`: native coin that our transactions cost.
 * - `adjustments`: money that left the refund and gas wallets without a payout, as an operator has explained it.
 */
export const bookKinds = ['payments', 'refunds', 'sweeps', 'fees', 'adjustments'] as const;
export type BookKind = (typeof bookKinds)[number];

/** Entries of one page at most; what another kind or time has is skipped. */
export const BOOK_PAGE_ENTRIES = 2_000;

/**
 * One posting with the rows that it is about; null where it has none. `units` are base units: positive as the kind
 * says, negative where an entry takes back what an earlier one booked, or moves it to another session.
 */
export type Booked = Readonly<{
  /** Of the network's entries. */
  entry: number;
  kind: EntryKind;
  /** The transfer or payout; of an adjustment, the network. */
  cause: string;
  atMs: number;
  network: NetworkKey;
  asset: Asset;
  units: bigint;
  tx: string | null;
  /** Of an adjustment: what the operator said. */
  reason: string | null;
  /** The entry that this one takes back. */
  reverses: number | null;
  /** The session, and what values its money: the conversion that was locked at its creation; no rate at par. */
  sessionId: string | null;
  storeId: string | null;
  orderId: string | null;
  currency: string | null;
  rate: string | null;
  createdAtMs: number | null;
  /** The transfer of a payment. */
  position: number | null;
  decimals: number | null;
  fromKey: string | null;
  toKey: string | null;
  hash: string | null;
  number: number | null;
  timeS: number | null;
  /** A refund, or a return of held money. */
  refundId: string | null;
  receiptNumber: string | null;
  destination: string | null;
  heldKind: HeldKind | null;
  /** Of money out: what the payout is for, and what its successful transaction cost. */
  payoutKind: Intent['kind'] | null;
  feeUnits: bigint | null;
}>;

export type NewestEntry = Pick<Booked, 'network' | 'entry'>;

export type BookFilter = Readonly<{
  kind: BookKind;
  /** Booked from this time on, and before that one (Unix ms). */
  fromMs: number;
  toMs: number;
  /** Only what belongs to this store's sessions; null: everything. */
  storeId: string | null;
}>;

type Row = Omit<Booked, 'units' | 'rate' | 'feeUnits'> &
  Readonly<{ units: string; terms: string | null; feeUnits: string | null }>;

/** The account whose postings a kind lists, its sign there, the entries that it lists, and whose money they are. */
type Book = Readonly<{ account: string; sign: bigint; kinds: readonly EntryKind[]; session: string }>;

const booksOf: Readonly<Record<BookKind, Book>> = {
  payments: {
    account: 'collected',
    sign: 1n,
    kinds: ['payment', 'payment_reversed'],
    session: `(SELECT o.subject FROM ledger_postings AS o WHERE o.network = e.network AND o.seq = e.seq AND o.account = 'received')`,
  },
  refunds: { account: 'refunded', sign: -1n, kinds: ['refund_paid', 'refund_matched'], session: 'p.subject' },
  sweeps: { account: 'treasury', sign: 1n, kinds: ['sweep_done'], session: 'NULL' },
  fees: { account: 'fees', sign: 1n, kinds: ['fee'], session: 'y.session_id' },
  adjustments: { account: 'adjusted', sign: 1n, kinds: ['adjustment'], session: 'NULL' },
};

/** A fee's occurrence is the generation of its payout. */
const pageOf = ({ account, kinds, session }: Book): string => `
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
    y.kind AS "payoutKind", y.fee_units AS "feeUnits"
  FROM ledger_entries AS e
  JOIN ledger_postings AS p ON p.network = e.network AND p.seq = e.seq AND p.account = '${account}'
  LEFT JOIN transfers AS t ON t.id = ${paidTransfer}
  LEFT JOIN blocks AS b ON b.id = t.block_id
  LEFT JOIN addresses AS d ON d.id = t.address_id
  LEFT JOIN payouts AS y ON t.id IS NULL AND y.id = e.cause
  LEFT JOIN refunds AS r ON t.id IS NULL AND r.id = e.cause
  LEFT JOIN sessions AS s ON s.id = ${session}
  WHERE e.network = :network AND e.seq > :after AND e.seq <= :through AND e.kind IN (${kinds.map((kind) => `'${kind}'`).join(', ')})
    AND e.at_ms >= :fromMs AND e.at_ms < :toMs AND (CAST(:storeId AS TEXT) IS NULL OR s.store_id = :storeId)
  ORDER BY e.seq, p.subject`;

/** Statements are prepared with the first page: only exports ask for them. */
export function bookQueries(db: Db) {
  const pages = new Map<BookKind, ReturnType<Db['client']['prepare']>>();
  const pageStatement = (kind: BookKind): ReturnType<Db['client']['prepare']> => {
    const known = pages.get(kind) ?? db.client.prepare(pageOf(booksOf[kind]));
    pages.set(kind, known);
    return known;
  };
  return {
    /** Returns the number of the newest entry of each network that has some. */
    async newestEntries(): Promise<readonly NewestEntry[]> {
      const query = `SELECT substr(owner, length('ledger:') + 1) AS network, last AS entry FROM counters
        WHERE owner >= 'ledger:' AND owner < 'ledger;'`;
      return db.read(async () => (await db.client.prepare(query).all()) as NewestEntry[]);
    },
    /** Returns what matches among a network's `BOOK_PAGE_ENTRIES` entries after the entry `after`, by entry. */
    async bookPage({ kind, ...filter }: BookFilter, network: NetworkKey, after: number): Promise<readonly Booked[]> {
      const page = { ...filter, network, after, through: after + BOOK_PAGE_ENTRIES };
      return db.read(async () =>
        ((await pageStatement(kind).all(page)) as Row[]).map((row) => toBooked(row, booksOf[kind])),
      );
    },
  };
}

const toBooked = ({ units, terms, feeUnits, ...row }: Row, { sign }: Book): Booked => ({
  ...row,
  units: sign * BigInt(units),
  rate: terms === null ? null : (readSessionTerms(terms).conversion?.rate ?? null),
  feeUnits: feeUnits === null ? null : BigInt(feeUnits),
});
