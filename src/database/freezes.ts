/**
 * The part of the port about freezes. While money out is frozen on a network, or everywhere, no payout there is
 * allotted, signed or broadcast; what is signed already is watched to its end.
 */
import type { NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

/** `network` is null for a freeze of every network. Each has at most one freeze with the same code. */
export type Freeze = Readonly<{
  network: NetworkKey | null;
  code: string;
  reason: string;
  /** The operator's user, or the part of the program that froze it. */
  frozenBy: string;
  sinceMs: number;
}>;

/** The code of a freeze that an operator began. */
export const FROZEN_BY_OPERATOR = 'payouts_frozen';
/** The code of a network's freeze for transfers that nothing explains: its end acknowledges them. */
export const OUTFLOW_FOREIGN = 'wallet_outflow_foreign';
/** Why a network is frozen whose blocks were read before our own wallets were known. */
export const WALLETS_UNKNOWN = 'wallets_unknown';
/** The code of the freeze with which a restore ends. */
export const RESTORED = 'restored_from_backup';

/** Returns whether the program froze money out by itself: a person has to look at its cause before it is ended. */
export const isAutomatic = ({ code }: Pick<Freeze, 'code'>): boolean =>
  code !== FROZEN_BY_OPERATOR && code !== RESTORED;

/** Returns whether only `payout reconcile` ends a freeze. */
export const needsReconcile = ({ network, code }: Pick<Freeze, 'network' | 'code'>): boolean =>
  network !== null && isAutomatic({ code });

/** Returns the command that ends a freeze. */
export const endOf = ({ network, code }: Pick<Freeze, 'network' | 'code'>): string =>
  needsReconcile({ network, code })
    ? `\`quayside payout reconcile ${network} --reason …\``
    : `\`quayside payout thaw${network === null ? '' : ` ${network}`} --reason …\``;

/** What was shown to whoever ends freezes: as `listFreezes` returned them, and the ids that `listForeign` returned. */
export type SeenFreezes = Readonly<{ freezes: readonly Freeze[]; transfers: readonly number[] }>;

export interface FreezeDatabase {
  /**
   * Freezes money out. An existing freeze of the same scope with the same code keeps its reason and time; one with
   * another code continues beside it.
   * @param act the operator's command; null if the program froze it by itself
   * @returns false when it was frozen before
   */
  freezePayouts(freeze: Freeze, act: OperatorAct | null): Promise<boolean>;
  /**
   * Ends freezes that a person has looked at, and acknowledges the transfers that caused one.
   * Any other freeze continues, also one that has begun since, or whose transfers were not all shown.
   * @returns those that were ended
   */
  thawPayouts(seen: SeenFreezes, act: OperatorAct): Promise<readonly Freeze[]>;
  /** Returns a freeze that applies to a network, one of every network first; null when it pays. */
  findFreeze(network: NetworkKey): Promise<Freeze | null>;
  /** Returns all freezes, those of every network first. */
  listFreezes(): Promise<readonly Freeze[]>;
}
