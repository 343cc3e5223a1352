/**
 * The part of the port for sweeps: what deposit addresses hold, and the sweeps that empty them.
 */
import type { GasIntent, SweepIntent } from '../core/intent.ts';
import type { PayoutState } from '../core/payout.ts';
import type { SweepOwner } from '../core/sweep.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

/** A pool of deposit addresses: one per family and mode. Its source is an xpub, or the signer of imported lists. */
export type PoolKey = Readonly<{ family: string; mode: Mode }>;

/** A network, and the pool whose current source its deposit addresses come from. */
export type SweepPlace = Readonly<{ network: NetworkKey; pool: PoolKey }>;

/** Addresses that ever received money, by age; `next` continues after them, null at the end. */
export type OwnerPage = Readonly<{ owners: readonly SweepOwner[]; next: number | null }>;

/**
 * A sweep, the keys of its addresses in the intent's order, and its gas payouts: `before` run one after another before
 * the sweep, `after` once it has ended, whatever its outcome (it takes lent resources back).
 */
export type PlannedSweep = Readonly<{
  sweep: SweepIntent;
  keys: readonly string[];
  before: readonly GasIntent[];
  after: GasIntent | null;
}>;

/** What a network's deposit addresses held when the engine last looked. */
export type UnsweptLevel = Readonly<{
  network: NetworkKey;
  currency: Currency;
  /** Number of addresses and their total base units; `openUnits` are those of open sweeps. */
  owners: number;
  units: bigint;
  openUnits: bigint;
  readAtMs: number;
}>;

/** A sweep that takes, or took, what came to a session's address. */
export type SessionSweep = Readonly<{
  id: string;
  network: NetworkKey;
  currency: Currency;
  units: bigint;
  state: PayoutState;
  tx: string | null;
  /** When it ended, or was planned. */
  atMs: number;
}>;

export interface SweepDatabase {
  /** Returns the sweeps of a session's addresses on networks of a family, newest first. */
  listSessionSweeps(
    sessionId: string,
    places: readonly Readonly<{ network: NetworkKey; family: string }>[],
    limit: number,
  ): Promise<readonly SessionSweep[]>;
  /**
   * Returns what deposit addresses hold by facts: canonical, confirmed payments at or below the network's final height,
   * less what sweeps took or plan to take. Addresses that hold nothing are left out.
   * @param afterId `next` of the previous page; 0 for the first
   * @param limit addresses to look at, with or without money
   */
  unswept(place: SweepPlace, afterId: number, limit: number): Promise<OwnerPage>;
  /** @throws Fault permanent `treasury_collects` if the treasury is a deposit address: sweeps would look like income */
  checkTreasury(pool: PoolKey, treasury: string): Promise<void>;
  /**
   * Plans sweeps with their gas, each only if every address still holds what it names and no other sweep is open on it.
   * @returns ids of the sweeps that were planned
   * @throws as `checkTreasury`
   */
  planSweeps(
    input: SweepPlace & Readonly<{ treasury: string; sweeps: readonly PlannedSweep[]; nowMs: number }>,
  ): Promise<readonly string[]>;
  /**
   * Withdraws the sweeps that have waited too long for a signature, with their gas; see `isPlanStale`.
   * @returns the ids of the sweeps
   */
  withdrawStaleSweeps(network: NetworkKey, nowMs: number): Promise<readonly string[]>;
  /**
   * Plans more native coin for a waiting sweep.
   * @returns false when the sweep was sent or has ended, when coin is already on its way, or when this payout exists
   */
  topUpSweep(sweepId: string, gas: GasIntent, nowMs: number): Promise<boolean>;
  /** Returns how many payouts of native coin were ever planned for a sweep. */
  countTopUps(sweepId: string): Promise<number>;
  /** Replaces the levels of a network with what the engine just read. */
  recordUnswept(network: NetworkKey, levels: readonly UnsweptLevel[]): Promise<void>;
  listUnswept(): Promise<readonly UnsweptLevel[]>;
}
