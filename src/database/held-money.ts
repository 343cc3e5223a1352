/**
 * Held money: confirmed money that counts for nothing until an operator decides about it.
 * @module
 */
import type { SessionStatus } from '../core/event.ts';
import type { AcceptEffect, HeldKind, HeldState } from '../core/held-money.ts';
import type { Currency, Mode } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

/** One kind of held money of one session. Values are par. */
export type HeldMoney = Readonly<{
  id: string;
  sessionId: string;
  storeId: string;
  mode: Mode;
  orderId: string;
  kind: HeldKind;
  state: HeldState;
  /** What is there now, and how much of it operators have decided about. */
  valuePar: bigint;
  settledPar: bigint;
  /** That of the larger part. */
  currency: Currency;
  openedAtMs: number;
  settledAtMs: number | null;
}>;

/** What a decision changes of a session. */
export type HeldSession = Readonly<{ status: SessionStatus; confirmedPar: bigint; duePar: bigint; paidLate: boolean }>;

export type AcceptHeldOutcome =
  | Readonly<{ kind: 'done'; effect: AcceptEffect; held: HeldMoney; before: HeldSession; after: HeldSession }>
  | Readonly<{ kind: 'not_open'; held: HeldMoney }>
  | Readonly<{ kind: 'not_found' }>;

export interface HeldMoneyDatabase {
  /** Returns held money, newest first. */
  listHeldMoney(
    filter: Readonly<{ storeId?: string; sessionId?: string; state?: HeldState; limit: number }>,
  ): Promise<readonly HeldMoney[]>;
  findHeldMoney(id: string): Promise<HeldMoney | null>;
  /**
   * Accepts open held money: see `core/held-money`. `held` is how it was before.
   * @param isDryRun nothing is saved; the outcome is what it would be
   */
  acceptHeldMoney(id: string, act: OperatorAct, isDryRun: boolean): Promise<AcceptHeldOutcome>;
  /**
   * Records what sessions of an earlier version hold, without alarms and events of its own; each session once.
   * @param limit how many sessions to look at
   * @returns how many were looked at; 0 once all were
   */
  recordOlderHeldMoney(nowMs: number, limit: number): Promise<number>;
}
