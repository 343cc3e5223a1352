/**
 * The part of the port for certificates: what the database holds about a range of blocks, to be compared with the
 * chain. Reads only.
 * @module
 */
import type { Intent } from '../core/intent.ts';
import type { Currency, NetworkKey } from '../core/transfer.ts';
import type { BookDatabase } from './bookkeeping.ts';
import type { PoolKey } from './sweeps.ts';
import type { TraceDatabase } from './traces.ts';

/** `unconfirmed`: in a canonical block, and not credited yet. */
export type RecordedState = 'confirmed' | 'unconfirmed' | 'dust';

/**
 * A transfer in a canonical block. `bookedUnits` is what the ledger holds of it, 0 if its entries cancel out; `from`
 * and `to` are address keys.
 */
export type RecordedTransfer = Readonly<{
  block: string;
  number: number;
  tx: string;
  index: number;
  currency: Currency;
  from: string;
  to: string;
  units: bigint;
  sessionId: string | null;
  state: RecordedState;
  bookedUnits: bigint;
}>;

/** Canonical blocks and their transfers, lowest first. Final blocks without transfers are not kept for long. */
export type RecordedRange = Readonly<{
  blocks: readonly Readonly<{ number: number; hash: string }>[];
  transfers: readonly RecordedTransfer[];
}>;

/** A deposit address; `next` of a page continues after it. */
export type Holder = Readonly<{ id: number; key: string }>;

/**
 * What moved on one address in one currency. `received` are transfers in canonical blocks up to a number, added up, and
 * `later` those above it. `sweeps` are those that were signed, whatever became of them.
 */
export type Account = Readonly<{
  id: number;
  key: string;
  currency: Currency;
  received: bigint;
  later: readonly Readonly<{ number: number; units: bigint }>[];
  sweeps: readonly AccountSweep[];
}>;

/** `txs` are the transactions that may have made it; only one of them can be on the chain. */
export type AccountSweep = Readonly<{
  id: string;
  units: bigint;
  txs: readonly string[];
  /** When it was seen to be final on the chain; null if it was not. */
  settledAtMs: number | null;
}>;

/** A payout that is final on the chain. `isBooked`: the ledger has its entry, or it needs none. */
export type SettledPayout = Readonly<{
  id: string;
  intent: Intent;
  tx: string;
  settledAtMs: number;
  isBooked: boolean;
}>;

export type NumberRange = Readonly<{ from: number; to: number }>;

export interface EvidenceDatabase extends BookDatabase, TraceDatabase {
  /** Returns the lowest canonical block at or above a number; null if there is none. */
  firstBlockFrom(network: NetworkKey, number: number): Promise<number | null>;
  recordedRange(network: NetworkKey, range: NumberRange): Promise<RecordedRange>;
  /**
   * Returns addresses that hold something by the facts up to the end of a range, or that something came to or left in
   * it, by age.
   * @param fromMs when the range began; what was swept since then left in it, or later
   * @param limit addresses to look at, whether they hold something or not
   * @returns `next`: continues after them; null at the end
   */
  holders(
    place: Readonly<{ network: NetworkKey; pool: PoolKey }>,
    range: NumberRange & Readonly<{ fromMs: number }>,
    afterId: number,
    limit: number,
  ): Promise<Readonly<{ holders: readonly Holder[]; next: number | null }>>;
  /** Returns what moved on addresses, for each currency. @param throughNumber where `later` begins */
  accounts(network: NetworkKey, holders: readonly Holder[], throughNumber: number): Promise<readonly Account[]>;
  /** Returns payouts with ids above `afterId` that were planned before `toMs` and settled since `fromMs`, by id. */
  settledPayouts(
    network: NetworkKey,
    times: Readonly<{ fromMs: number; toMs: number }>,
    afterId: string,
    limit: number,
  ): Promise<readonly SettledPayout[]>;
}
