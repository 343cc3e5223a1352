/**
 * The part of the port about freezes. While money out is frozen on a network, or everywhere, no payout there is
 * allotted, signed or broadcast; what is signed already is watched to its end.
 * @module
 */
import type { NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

/** `network` is null for a freeze of every network. */
export type Freeze = Readonly<{
  network: NetworkKey | null;
  code: string;
  reason: string;
  /** The operator's user, or the part of the program that froze it. */
  frozenBy: string;
  sinceMs: number;
}>;

export interface FreezeDatabase {
  /**
   * Freezes money out. An existing freeze of the same scope keeps its reason and time.
   * @param act the operator's command; null if the program froze it by itself
   * @returns false when it was frozen before
   */
  freezePayouts(freeze: Freeze, act: OperatorAct | null): Promise<boolean>;
  /**
   * Ends one freeze: that of the network, or that of every network (null). Any other one continues: a network may have
   * one of its own and, after that is ended, another one for its skipped blocks.
   * @returns what was ended; null when there was no such freeze
   */
  thawPayouts(network: NetworkKey | null, act: OperatorAct): Promise<Freeze | null>;
  /** Returns the freeze that applies to a network, that of every network first; null when it pays. */
  findFreeze(network: NetworkKey): Promise<Freeze | null>;
  listFreezes(): Promise<readonly Freeze[]>;
}
