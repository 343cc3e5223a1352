/**
 * The part of the port that follows one payment through the tables, for `quayside show`. Reads only.
 */
import type { Counted, Phase } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { StoredEvent } from './events.ts';
import type { OutgoingRecord } from './outgoing.ts';

/** Rows of one kind that a trace returns, at most: anyone can send any number of transfers to an address. */
export const TRACED_MAX = 100;

/** One of our deposit addresses. `isRetired`: it is watched and never given out. */
export type TracedAddress = Readonly<{
  id: number;
  family: string;
  mode: Mode;
  key: string;
  index: number;
  state: 'free' | 'taken' | 'spoiled';
  isRetired: boolean;
  sessionId: string | null;
}>;

/** A transfer to one of our addresses with its block; dust, and what is in blocks that left the chain, included. */
export type TracedTransfer = Readonly<{
  network: NetworkKey;
  tx: string;
  index: number;
  currency: Currency;
  units: bigint;
  decimals: number;
  address: TracedAddress;
  block: Readonly<{ hash: string; number: number; timeS: number; isCanonical: boolean }>;
  isDust: boolean;
  isConfirmed: boolean;
  firstConfirmedAtMs: number | null;
  /** Null for dust, and for what came before its address was given to the session. */
  phase: Phase | null;
  counted: Counted;
}>;

export type TracedOutgoing = Pick<OutgoingRecord, 'role' | 'currency' | 'units' | 'to' | 'state'> &
  Readonly<{ network: NetworkKey; number: number }>;

export interface Traces {
  /** Returns the transfers to us in a transaction. Reads the index of all transfers: for operators, not for servers. */
  ofTransaction(tx: string): Promise<readonly TracedTransfer[]>;
  /** Returns the newest transfers to a session's addresses, oldest first. */
  ofSession(sessionId: string): Promise<readonly TracedTransfer[]>;
  /** Returns the newest transfers to an address, oldest first. */
  ofAddress(addressId: number): Promise<readonly TracedTransfer[]>;
  /** Returns our addresses of a family with this key: one in each mode at most. */
  findAddresses(family: string, key: string): Promise<readonly TracedAddress[]>;
  /** Returns the ids of the sessions of an order, one in each store and mode at most. */
  sessionsOfOrder(orderId: string): Promise<readonly string[]>;
  /** Returns the newest events of a session, oldest first. */
  eventsOfSession(sessionId: string): Promise<readonly StoredEvent[]>;
  /** Returns what left our own wallets in a transaction and no attempt explains. */
  outgoingOf(tx: string): Promise<readonly TracedOutgoing[]>;
}
