/**
 * Sessions as lists: by time, status and what they were paid in, and by what people paste into a search box.
 */
import type { SessionStatus } from '../core/event.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

/** A currency on a network. */
export type PaidIn = Readonly<{ network: NetworkKey; currency: Currency }>;

/** What is odd about a session: late or too much or too little money, or money that waits for a decision. */
export const sessionFlags = ['late', 'over', 'under', 'held'] as const;
export type SessionFlag = (typeof sessionFlags)[number];

export type SessionFilter = Readonly<{
  storeId: string;
  mode: Mode;
  status: SessionStatus | null;
  flag?: SessionFlag | null;
  /** The currency of the price. */
  priceIn?: string | null;
  /** Only sessions that were credited in one of these; null: all. */
  paidIn: readonly PaidIn[] | null;
  /** Created from this time on, and before that one (Unix ms); null: no bound. */
  fromMs: number | null;
  toMs: number | null;
}>;

/** A page of a list, newest first. Ids sort by time, so `beforeId` goes on where a page ended. */
export type SessionList = SessionFilter & Readonly<{ beforeId: string | null; limit: number }>;

/**
 * A page of whole sessions, as their merchant reads them back. `first`: which of those that match come first. Null: no
 * filter.
 */
export type SessionPaging = Readonly<{
  storeId: string;
  mode: Mode;
  orderId: string | null;
  status: SessionStatus | null;
  /** Only ids from here on, and only ids below. */
  fromId: string;
  beforeId: string;
  first: 'newest' | 'oldest';
  limit: number;
}>;

/** `goOnId` is the `beforeId` of the next page, which may be shorter than `limit`, or empty; null at the end. */
export type SessionPage<Summary> = Readonly<{ sessions: readonly Summary[]; goOnId: string | null }>;

/**
 * What is looked for: the beginning of an order id, a transaction in any of its spellings, an address's key, or an
 * amount that was asked for in one of the currencies, or that came.
 */
export type SessionSearch =
  | Readonly<{ kind: 'order'; orderId: string }>
  | Readonly<{ kind: 'transaction'; spellings: readonly string[] }>
  | Readonly<{ kind: 'address'; family: string; key: string }>
  | Readonly<{
      kind: 'amount';
      asked: readonly Readonly<{ amountMinor: bigint; currencies: readonly string[] }>[];
      receivedPar: bigint | null;
    }>;
