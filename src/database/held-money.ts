/**
 * Held money: confirmed money that counts for nothing until an operator decides about it.
 */
import type { SessionStatus } from '../core/event.ts';
import type { AcceptEffect, HeldKind, HeldPart, HeldState, Returned } from '../core/held-money.ts';
import type { RefundStatus } from '../core/refund.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';
import type { DestinationCheck, DestinationFault, Refund } from './refunds.ts';

/** One return of held money: `id` is also that of its refund and its payout. */
export type HeldReturn = Returned & Readonly<{ id: string; status: RefundStatus; tx: string | null }>;

/** One kind of held money of one session. Values are par. */
export type HeldMoney = Readonly<{
  id: string;
  sessionId: string;
  storeId: string;
  mode: Mode;
  orderId: string;
  /** Until when its session waited, and when it was canceled. */
  expiresAtS: number;
  canceledAtS: number | null;
  kind: HeldKind;
  state: HeldState;
  /** What is there now, and how much of it operators have decided about. */
  valuePar: bigint;
  settledPar: bigint;
  /** That of the larger part. */
  currency: Currency;
  openedAtMs: number;
  settledAtMs: number | null;
  /** Oldest first, with those that failed. */
  returns: readonly HeldReturn[];
}>;

/** What a decision changes of a session. */
export type HeldSession = Readonly<{ status: SessionStatus; confirmedPar: bigint; duePar: bigint; paidLate: boolean }>;

export type AcceptHeldOutcome =
  | Readonly<{ kind: 'done'; effect: AcceptEffect; held: HeldMoney; before: HeldSession; after: HeldSession }>
  | Readonly<{ kind: 'not_open'; held: HeldMoney }>
  | Readonly<{ kind: 'not_found' }>;

/**
 * Held money to return. `to` is the address as somebody typed it; null: the only sender of that money. `network` and
 * `currency` choose among its parts.
 */
export type ReturnHeldMoney = Readonly<{
  id: string;
  to: string | null;
  network?: NetworkKey;
  currency?: Currency;
  act: OperatorAct;
  /**
   * The id of the person who orders it for the store: it is then the store's, like a refund. Null for the operator,
   * whom neither the store's suspension nor its limits bind.
   */
  requestedBy: string | null;
  /** Nothing is saved; the outcome is what it would be. */
  isDryRun: boolean;
}>;

export type ReturnHeldOutcome =
  | Readonly<{ kind: 'done'; refund: Refund }>
  /** None of its parts was chosen, or several were. */
  | Readonly<{ kind: 'choose'; parts: readonly HeldPart[] }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /**
   * `refunded`: refunds of the session have used it. `senders_differ`: it came from nobody or from several addresses.
   * `not_adopted`: the database was restored from a backup and may lack returns that were paid.
   */
  | Readonly<{ kind: 'not_open' | 'not_found' | 'refunded' | 'senders_differ' | 'not_adopted' }>
  /**
   * Of what a store orders alone. `above_limit`: it is more than is refunded without an approval. `daily_limit`: more
   * than the store may still refund today.
   */
  | Readonly<{ kind: 'store_suspended' | 'above_limit' | 'daily_limit' }>;

export interface Held {
  /** Returns held money, newest first. */
  list(
    filter: Readonly<{ storeId?: string; mode?: Mode; sessionId?: string; state?: HeldState; limit: number }>,
  ): Promise<readonly HeldMoney[]>;
  find(id: string): Promise<HeldMoney | null>;
  /**
   * Accepts open held money: see `core/held-money`. `held` is how it was before.
   * @param isDryRun nothing is saved; the outcome is what it would be
   */
  accept(id: string, act: OperatorAct, isDryRun: boolean): Promise<AcceptHeldOutcome>;
  /**
   * Begins to return open held money. From then on it counts for nothing; if the return fails, it is held again. What
   * is returned can be neither accepted nor refunded.
   */
  giveBack(input: ReturnHeldMoney, check: DestinationCheck): Promise<ReturnHeldOutcome>;
}
