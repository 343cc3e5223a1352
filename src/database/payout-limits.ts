/**
 * The part of the port about limits on what leaves for refunds and returns. `core/payout-limit.ts` judges them when an
 * attempt is allotted.
 * @module
 */
import type { PayoutLimit, Spent } from '../core/payout-limit.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

/** A store's limit applies to its live and its test money separately. */
export type LimitScope = Readonly<{ storeId: string }> | Readonly<{ network: NetworkKey }>;

/** A limit, and what of it is used; of a store, in each mode. */
export type LimitState = Readonly<{
  scope: LimitScope;
  limit: PayoutLimit;
  spent: readonly (Spent & Readonly<{ mode: Mode }>)[];
}>;

export interface PayoutLimitDatabase {
  /** Returns the limit of a store or network and what was paid out there. */
  payoutLimit(scope: LimitScope, nowMs: number): Promise<LimitState>;
  /** Returns every limit that is set. */
  listPayoutLimits(nowMs: number): Promise<readonly LimitState[]>;
  /** Changes a limit; what waits for it is looked at within five minutes. */
  setPayoutLimit(scope: LimitScope, changes: Partial<PayoutLimit>, act: OperatorAct): Promise<void>;
}
