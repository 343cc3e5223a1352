/**
 * Sessions as lists: by time, by status, and by what people paste into a search box.
 * @module
 */
import type { SessionStatus } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { StoredEvent } from './events.ts';

/** A page of a list, newest first. Ids sort by time, so `beforeId` goes on where a page ended. */
export type SessionList = Readonly<{
  storeId: string;
  mode: Mode;
  status: SessionStatus | null;
  beforeId: string | null;
  limit: number;
}>;

/** What is looked for: the beginning of an order id, a transaction in any of its spellings, or an address's key. */
export type SessionSearch =
  | Readonly<{ kind: 'order'; orderId: string }>
  | Readonly<{ kind: 'transaction'; spellings: readonly string[] }>
  | Readonly<{ kind: 'address'; family: string; key: string }>;

/** `Summary` is what a list shows of a session. */
export interface SessionListDatabase<Summary> {
  listSessions(list: SessionList): Promise<readonly Summary[]>;
  /** Returns at most `limit` sessions of the store and mode, newest first; a whole order id comes first of all. */
  searchSessions(
    search: SessionSearch,
    where: Readonly<{ storeId: string; mode: Mode; limit: number }>,
  ): Promise<readonly Summary[]>;
  /** Returns a session's events, oldest first. */
  listSessionEvents(sessionId: string, limit: number): Promise<readonly StoredEvent[]>;
}
