/**
 * The part of the port for lookups: the payment page asks about transactions, a network's indexer answers.
 */
import type { LookupResult, TransactionReport } from '../core/lookup.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** A lookup of one transaction on one network. It informs and never credits. */
export type Lookup = Readonly<{
  network: NetworkKey;
  tx: string;
  askedAtMs: number;
  /** The result; null before the network's indexer has looked. */
  finding: LookupResult | null;
  /** Whether the indexer will look again. */
  isOpen: boolean;
}>;

export interface Lookups {
  /**
   * Asks the indexers of some networks about a transaction, again if it was asked before. A session keeps at most 60
   * lookups, for a day. `tx` is canonical text of the network's family.
   */
  request(
    input: Readonly<{
      sessionId: string;
      asks: readonly Readonly<{ network: NetworkKey; family: string; tx: string }>[];
      nowMs: number;
    }>,
  ): Promise<void>;
  /** Returns all lookups of a session, in the order in which they were first asked. */
  list(sessionId: string): Promise<readonly Lookup[]>;
  /** Leases what an indexer should ask its node now, longest waiting first, and nothing past `LOOKUP_AGE_MS_MAX`. */
  claim(network: NetworkKey, nowMs: number, limit: number): Promise<readonly Readonly<{ id: string; tx: string }>[]>;
  /**
   * Judges the node's report by what is stored, and raises an alarm when money was missed. It credits nothing.
   * @param input `report` is null when the node could not tell: it is asked again, and an earlier result stays
   */
  answer(input: Readonly<{ id: string; report: TransactionReport | null; nowMs: number }>): Promise<void>;
}
