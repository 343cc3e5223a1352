/**
 * The part of the port that keeps refunds. Each command is one whole transaction, as everywhere in the port.
 * @module
 */
import type { RefundPolicy, RefundReason, RefundRefusal, RefundStatus } from '../core/refund.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';

/** How a POST is recognised when it is sent again. `bodyHash` covers the parsed body with defaults applied. */
export type Replay = Readonly<{ idempotencyKey: string | null; path: string; bodyHash: string }>;

/** Who named the address that a refund goes to. */
export type DestinationFrom = 'payer' | 'merchant' | 'sender';

/** A refund as it stands now. `id` is ours; `refundId` is the merchant's. */
export type Refund = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  refundId: string;
  sessionId: string;
  orderId: string;
  amountMinor: bigint;
  currency: Currency;
  reason: RefundReason | null;
  description: string | null;
  metadata: Readonly<Record<string, unknown>> | null;
  network: NetworkKey;
  /** Base units of the token on that network. */
  units: bigint;
  /** `mac` is that of `intentMac`. */
  destination: Readonly<{ key: string; from: DestinationFrom; mac: string }> | null;
  /** Present when the payer is asked for an address: what stands in the claim link. */
  claim: Readonly<{ token: string; untilS: number }> | null;
  status: RefundStatus;
  needsApproval: boolean;
  approvedAtMs: number | null;
  failureReason: string | null;
  tx: string | null;
  receiptNumber: string | null;
  createdAtMs: number;
  processingAtMs: number | null;
  processedAtMs: number | null;
  canceledAtMs: number | null;
}>;

/**
 * @param destinations address keys by network, from the merchant; which of them is used follows from where the money came in
 */
export type NewRefund = Readonly<{
  storeId: string;
  mode: Mode;
  refundId: string;
  sessionId: string;
  amountMinor: bigint;
  currency: Currency;
  reason: RefundReason | null;
  description: string | null;
  metadata: Readonly<Record<string, unknown>> | null;
  /** The address that the merchant names, as text; read once it is known on which network the refund is paid. */
  refundAddress: string | null;
  replay: Replay;
  nowMs: number;
}>;

/** Whether an address can be paid on a network: the key, or what is wrong with it. */
export type DestinationCheck = (network: NetworkKey, text: string) => DestinationVerdict;
export type DestinationVerdict =
  | Readonly<{ kind: 'ok'; family: string; key: string }>
  | Readonly<{ kind: 'bad'; why: DestinationFault }>;
export type DestinationFault = 'malformed' | 'unspendable' | 'token_contract' | 'own_address' | 'network_unknown';

export type CreateRefundOutcome =
  /** A replayed refund is shown as it was answered the first time. */
  | Readonly<{ kind: 'created' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'refused'; why: RefundRefusal }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  | Readonly<{
      kind: 'duplicate_refund_id' | 'idempotency_key_conflict' | 'session_not_found' | 'session_access_denied';
    }>;

export type FindRefundOutcome =
  | Readonly<{ kind: 'found'; refund: Refund }>
  /** `foreign`: another merchant has a refund of this id. */
  | Readonly<{ kind: 'not_found' | 'foreign' }>;

export type CancelRefundOutcome =
  | Readonly<{ kind: 'done' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'not_cancelable' | 'not_found' | 'foreign' | 'idempotency_key_conflict' }>;

/** What came of naming an address: `fixed` when one was named before, or the refund is past that. */
export type SetDestinationOutcome = 'done' | 'fixed' | 'not_found' | Readonly<{ kind: 'bad'; why: DestinationFault }>;

/** An operator's approval as it stands beside a refund; the signer verifies it. */
export type RefundApproval = Readonly<{ approver: string; untilS: number; signature: string }>;

export interface RefundDatabase {
  /** Judges, reserves and writes a refund, so that calls at the same time never exceed what was received. */
  createRefund(input: NewRefund, check: DestinationCheck): Promise<CreateRefundOutcome>;
  findRefund(owner: Readonly<{ storeId: string; mode: Mode; refundId: string }>): Promise<FindRefundOutcome>;
  /** The refund with this id of ours, or the one that a claim link names; null when there is none. */
  findRefundBy(name: Readonly<{ id: string }> | Readonly<{ claimToken: string }>): Promise<Refund | null>;
  /** The merchant's cancel: only while processing, and only until a signature is under way. */
  cancelRefund(
    input: Readonly<{ storeId: string; mode: Mode; refundId: string; replay: Replay; nowMs: number }>,
  ): Promise<CancelRefundOutcome>;
  /** The payer's address, by claim link. It is named once. */
  claimRefund(
    input: Readonly<{ claimToken: string; address: string; nowMs: number }>,
    check: DestinationCheck,
  ): Promise<SetDestinationOutcome>;
  /**
   * The payer's address, left at checkout for whatever may have to be returned on that network: also for refunds that wait for one. It is named
   * once.
   */
  leaveRefundAddress(
    input: Readonly<{ sessionId: string; network: NetworkKey; address: string; nowMs: number }>,
    check: DestinationCheck,
  ): Promise<SetDestinationOutcome>;
  /** Networks for which the payer left an address, with their keys. */
  refundAddresses(sessionId: string): Promise<Readonly<Record<NetworkKey, string>>>;
  /** Starts refunds that are ready and fails those whose claim link ran out. @returns how many it moved, at most `limit` */
  advanceRefunds(nowMs: number, limit: number): Promise<number>;
  /** The operator's yes; with a signature where the signer's caps ask for one. @returns null when there is no such refund, false when it is over */
  approveRefund(id: string, approval: RefundApproval | null, nowMs: number): Promise<boolean | null>;
  /** The operator's no: the refund fails with this reason, as long as nothing is signed. */
  rejectRefund(id: string, reason: string, nowMs: number): Promise<boolean | null>;
  listRefunds(
    filter: Readonly<{ storeId?: string; sessionId?: string; status?: RefundStatus; limit: number }>,
  ): Promise<readonly Refund[]>;
  /** @param storeId a store that there is */
  setRefundPolicy(storeId: string, changes: Partial<RefundPolicy>): Promise<RefundPolicy>;
  refundPolicy(storeId: string): Promise<RefundPolicy>;
}
