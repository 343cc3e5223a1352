/**
 * The part of the port about our own wallets: whose outgoing transfers followers read, and what became of each of them.
 * `core/outgoing.ts` decides what they mean.
 */
import type { Asset } from '../core/ledger.ts';
import type { OutgoingTransfer, WatchedRole } from '../core/outgoing.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** A wallet whose outgoing transfers are read. Ids only rise. */
export type OwnWallet = Readonly<{ id: number; role: WatchedRole; key: string }>;

/**
 * - `open`: not judged yet, because it is not final.
 * - `foreign`: nothing explains it; it froze money out. `known`: an operator has acknowledged it since, by ending
 *   that freeze; a refund that equals it waits for a person.
 * - `recorded`: the treasury's; only the newest are kept.
 */
export type OutgoingState = 'open' | 'foreign' | 'known' | 'recorded';

/** A transfer out of one of our wallets that no attempt here explains. */
export type OutgoingRecord = OutgoingTransfer &
  Readonly<{ id: number; block: string; state: OutgoingState; seenAtMs: number }>;

/** A transfer that equals a refund, and that an operator has acknowledged without saying what it was. */
export type EqualTransfer = Readonly<{ id: number; tx: string }>;

/** What the wallets of a network should hold of an asset, at least, and since when they hold less. */
export type BookedWallet = Readonly<{
  network: NetworkKey;
  asset: Asset;
  units: bigint;
  shortSinceMs: number | null;
}>;

export interface WalletBooksDatabase {
  listWalletBooks(): Promise<readonly BookedWallet[]>;
  /**
   * Compares what the refund and gas wallets of a network hold together, in base units, with what the ledger expects
   * since the last comparison, and raises an alarm (`wallet_balance_short`) if some of it has been missing for minutes.
   * Assets that are not named are not compared.
   */
  compareBooks(
    input: Readonly<{
      network: NetworkKey;
      heldUnits: Readonly<Partial<Record<Asset, bigint>>>;
      /**
       * The most that a transaction may cost by the signer's policy, in base units of the native coin, for attempts of
       * which no limit is known here. Absent, native coin is not compared while there are such attempts.
       */
      feeUnitsMax?: bigint | undefined;
      nowMs: number;
    }>,
  ): Promise<void>;
}

export interface OutgoingDatabase extends WalletBooksDatabase {
  /** Saves the wallets of a network. Known ones stay watched. */
  recordOwnWallets(network: NetworkKey, wallets: readonly Omit<OwnWallet, 'id'>[]): Promise<void>;
  listOwnWallets(network: NetworkKey): Promise<readonly OwnWallet[]>;
  /**
   * Judges the network's final outgoing transfers, once: forgets what attempts explain, and freezes money out on the
   * network for what nothing explains, with an alarm and an entry of the audit log.
   */
  judgeOutgoing(network: NetworkKey, nowMs: number): Promise<void>;
  /**
   * Returns the oldest transfers that are judged, that no attempt explains and that nobody has acknowledged: the end of
   * their freeze acknowledges them.
   */
  listForeign(network: NetworkKey, limit: number): Promise<readonly OutgoingRecord[]>;
  /**
   * Returns the oldest acknowledged transfer that equals what a refund pays, unless an attempt explains it or a person
   * has said that it did not pay this one; null if there is none, or the payout is no refund.
   * @param afterId only those after the transfer with this id, whatever a person has said
   */
  findEqualTransfer(payoutId: string, afterId?: number): Promise<EqualTransfer | null>;
  /** Returns the newest outgoing transfers that no attempt explains, the treasury's included. */
  listOutgoing(network: NetworkKey, limit: number): Promise<readonly OutgoingRecord[]>;
}
