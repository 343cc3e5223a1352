/**
 * The part of the port that keeps what payers ask about transactions: the payment page asks, a network's indexer answers.
 * @module
 */
import type { LookupResult, TransactionReport } from '../core/lookup.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** A transaction that a payer asked after, on one network. It tells, and credits nothing. */
export type Lookup = Readonly<{
  network: NetworkKey;
  tx: string;
  askedAtMs: number;
  /** Null before the network's indexer has looked. */
  finding: LookupResult | null;
  /** The indexer will look again. */
  isOpen: boolean;
}>;

export interface LookupDatabase {
  /**
   * Asks the indexers of some networks about a transaction, or asks them again. A bounded number is remembered for a session and for a
   * day. `tx` is canonical text of the network's family.
   */
  requestLookups(
    input: Readonly<{
      sessionId: string;
      asks: readonly Readonly<{ network: NetworkKey; family: string; tx: string }>[];
      nowMs: number;
    }>,
  ): Promise<void>;
  /** Everything that is remembered of a session, in the order in which it was first asked. */
  listLookups(sessionId: string): Promise<readonly Lookup[]>;
  /** What an indexer is to ask its node now: what waits longest first, and nothing that is older than `LOOKUP_AGE_MS_MAX`. */
  dueLookups(
    network: NetworkKey,
    nowMs: number,
    limit: number,
  ): Promise<readonly Readonly<{ id: number; tx: string }>[]>;
  /**
   * Judges what the node said by what is held, and raises an alarm when money was missed. It credits nothing.
   * @param input `sighting` is null when the node could not tell: then it is asked again, and the earlier finding stays
   */
  answerLookup(input: Readonly<{ id: number; sighting: TransactionReport | null; nowMs: number }>): Promise<void>;
}
