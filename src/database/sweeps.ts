/**
 * The part of the port that tells what lies on collection addresses, and plans how it leaves them.
 * @module
 */
import type { GasIntent, SweepIntent } from '../core/intent.ts';
import type { SweepOwner } from '../core/sweep.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

/** A pool of collection addresses: one per family and mode, all from one source (an xpub's fingerprint, or the signer of imported lists). */
export type PoolKey = Readonly<{ family: string; mode: Mode }>;

/** A network and the pool whose current source its collection addresses are of. */
export type SweepPlace = Readonly<{ network: NetworkKey; pool: PoolKey }>;

/** Some of the addresses that ever received, in the order in which they were made; `next` continues after them, null at the end. */
export type OwnerPage = Readonly<{ owners: readonly SweepOwner[]; next: number | null }>;

/**
 * A sweep, the keys of its addresses in the intent's order, and what they need: `before` it, one after the other, and `after` it has ended,
 * whatever became of it (what was lent is taken back).
 */
export type PlannedSweep = Readonly<{
  sweep: SweepIntent;
  keys: readonly string[];
  before: readonly GasIntent[];
  after: GasIntent | null;
}>;

/** What lay on a network's collection addresses when the engine last looked. */
export type UnsweptLevel = Readonly<{
  network: NetworkKey;
  currency: Currency;
  /** Addresses, and their base units together; those of open sweeps are `openUnits`. */
  owners: number;
  units: bigint;
  openUnits: bigint;
  readAtMs: number;
}>;

export interface SweepDatabase {
  /**
   * What collection addresses hold, by facts: canonical, confirmed payments at or below the network's final height, less what sweeps took or are to
   * take. An address without any of it is not among them.
   * @param afterId `next` of the page before; 0 begins
   * @param limit addresses to look at, with or without money
   */
  unswept(place: SweepPlace, afterId: number, limit: number): Promise<OwnerPage>;
  /** @throws Fault permanent `treasury_collects` when the treasury is a collection address of ours: a sweep would look like a payment */
  checkTreasury(pool: PoolKey, treasury: string): Promise<void>;
  /**
   * Plans sweeps with their gas, each only where every address still holds what it names and no other sweep is to take from it.
   * @returns ids of the sweeps that were planned
   * @throws as `checkTreasury`
   */
  planSweeps(
    input: SweepPlace & Readonly<{ treasury: string; sweeps: readonly PlannedSweep[]; nowMs: number }>,
  ): Promise<readonly string[]>;
  /**
   * Plans more native coin for a sweep that waits.
   * @returns false when the sweep is on its way or has ended, when coin is on its way to it already, or when this very payout was there before
   */
  topUpSweep(sweepId: string, gas: GasIntent, nowMs: number): Promise<boolean>;
  /** How many payouts of native coin were ever planned for a sweep. */
  countTopUps(sweepId: string): Promise<number>;
  /** Keeps what a look at a network has found, in place of the look before. */
  recordUnswept(network: NetworkKey, levels: readonly UnsweptLevel[]): Promise<void>;
  listUnswept(): Promise<readonly UnsweptLevel[]>;
}
