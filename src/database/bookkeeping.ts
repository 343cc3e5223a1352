/**
 * The part of the port for accounting: the ledger's entries with what an accountant asks about them, page by page.
 * Reads only. The ledger is append-only, so pages up to the same last entry are one consistent state.
 */
import type { HeldKind } from '../core/held-money.ts';
import type { Intent } from '../core/intent.ts';
import type { Asset, EntryKind } from '../core/ledger.ts';
import type { NetworkKey } from '../core/transfer.ts';

/**
 * - `payments`: money that was credited, and what reorgs took back.
 * - `refunds`: money that was paid back: refunds, and returns of held money.
 * - `sweeps`: money that reached the treasury. `fees`: native coin that our transactions cost.
 */
export const bookKinds = ['payments', 'refunds', 'sweeps', 'fees'] as const;
export type BookKind = (typeof bookKinds)[number];

/** Entries of one page at most; what another kind or time has is skipped. */
export const BOOK_PAGE_ENTRIES = 2_000;

/** The session of an entry and what values its money: the conversion that was locked at its creation; null at par. */
export type BookedSession = Readonly<{
  id: string;
  storeId: string;
  orderId: string;
  currency: string;
  rate: string | null;
  createdAtMs: number;
}>;

/** The transfer of a payment; `from` and `to` are address keys. */
export type BookedTransfer = Readonly<{
  index: number;
  decimals: number;
  from: string;
  to: string;
  block: string;
  number: number;
  timeS: number;
}>;

/** A refund, or a return of held money. `to` is an address key. */
export type BookedRefundRow = Readonly<{
  refundId: string;
  receiptNumber: string | null;
  to: string | null;
  heldKind: HeldKind | null;
}>;

/**
 * One posting. `units` are base units: positive as the kind says, negative where an entry takes back what an earlier
 * one booked, or moves it to another session.
 */
export type Booked = Readonly<{
  entry: number;
  kind: EntryKind;
  /** The transfer or payout. */
  cause: string;
  atMs: number;
  network: NetworkKey;
  asset: Asset;
  units: bigint;
  tx: string | null;
  /** The entry that this one takes back. */
  reverses: number | null;
  session: BookedSession | null;
  transfer: BookedTransfer | null;
  refund: BookedRefundRow | null;
  /** Of money out: what the payout is for, and what its successful transaction cost. */
  payout: Readonly<{ id: string; kind: Intent['kind']; feeUnits: bigint | null }> | null;
}>;

export type BookFilter = Readonly<{
  kind: BookKind;
  /** Booked from this time on, and before that one (Unix ms). */
  fromMs: number;
  toMs: number;
  /** Only what belongs to this store's sessions; null: everything. */
  storeId: string | null;
}>;
