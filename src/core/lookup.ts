/**
 * Interprets a transaction for a payer who asks about it. A node reports the transaction, and `judge` decides what it
 * means for one session. A lookup only informs. Only a follower that reads block by block credits.
 */
import type { Currency } from './transfer.ts';

/** A transfer in a transaction. `currency` is null for any other token and for the network's own coin. */
export type ReportedTransfer = Readonly<{ to: string; currency: Currency | null }>;

/**
 * A node's knowledge of a transaction.
 * - `unknown`: it never saw it, or has forgotten it.
 * - `waiting`: it is in no block yet.
 * - `mined`: it is in block `number`; a failed one moved nothing.
 */
export type TransactionReport =
  | Readonly<{ kind: 'unknown' | 'waiting' }>
  | Readonly<{ kind: 'mined'; number: number; succeeded: boolean; transfers: readonly ReportedTransfer[] }>;

/**
 * The result that a session's payer sees for a transaction on one network.
 * - `kept`: it paid this session, and its transfers are among the session's own.
 * - `unread`: it paid this session, in a block that the follower has not read yet.
 * - `missed`: it paid this session in a final block that the follower read without finding it. Only a rescan credits
 *   it.
 * - `wrong_token`, `wrong_network`: it went to this session's address, and cannot pay it.
 * - `other_order`: it paid another session, which is not disclosed.
 * - `elsewhere`: no part of it went to one of our deposit addresses.
 */
export const lookupResults = [
  'unknown',
  'waiting',
  'failed',
  'kept',
  'unread',
  'missed',
  'wrong_token',
  'wrong_network',
  'other_order',
  'elsewhere',
] as const;
export type LookupResult = (typeof lookupResults)[number];

/** Our knowledge of the transaction's recipients and the session. */
export type LookupContext = Readonly<{
  /** The session's own address key; null if the session has none of this family. */
  ownKey: string | null;
  /** Recipients that are the addresses of other sessions, of those that `recipientsChecked` names. */
  others: ReadonlySet<string>;
  accepts: readonly Currency[];
  /** Whether the network belongs to the session's mode. */
  isOwnNetwork: boolean;
  /** Whether a transfer of the transaction to the session's address is recorded, in a canonical block. */
  isKept: boolean;
  /** The height up to which the follower's chain is final. */
  floor: number;
}>;

/** Recipients looked up among our addresses. An airdrop may have thousands. */
const RECIPIENTS_CHECKED_MAX = 200;

/** Returns the recipients that are looked up among our addresses. */
export const recipientsChecked = (report: TransactionReport): readonly string[] =>
  report.kind === 'mined' ? report.transfers.slice(0, RECIPIENTS_CHECKED_MAX).map(({ to }) => to) : [];

/** Decides what a node's report of a transaction means for one session. */
export function judge(report: TransactionReport, context: LookupContext): LookupResult {
  if (report.kind !== 'mined') return report.kind;
  const { number, succeeded, transfers } = report;
  if (!succeeded) return 'failed';
  const own = transfers.filter(({ to }) => to === context.ownKey);
  if (own.length === 0) {
    return recipientsChecked(report).some((key) => context.others.has(key)) ? 'other_order' : 'elsewhere';
  }
  if (!context.isOwnNetwork) return 'wrong_network';
  if (!own.some(({ currency }) => currency !== null && context.accepts.includes(currency))) return 'wrong_token';
  if (context.isKept) return 'kept';
  return number <= context.floor ? 'missed' : 'unread';
}

/** Age at which the node is no longer asked. The payer can ask again. */
export const LOOKUP_AGE_MS_MAX = 15 * 60_000;
const RETRY_MS_MIN = 2000;

/** Results that may still change. */
const passing: readonly LookupResult[] = ['unknown', 'waiting', 'unread'];

/** Returns when to ask the node again (Unix ms), at growing intervals; null when the result is final. */
export function nextLookAtMs(result: LookupResult, askedAtMs: number, nowMs: number): number | null {
  const ageMs = Math.max(0, nowMs - askedAtMs);
  const nextMs = nowMs + Math.max(RETRY_MS_MIN, ageMs / 2);
  return passing.includes(result) && nextMs < askedAtMs + LOOKUP_AGE_MS_MAX ? Math.ceil(nextMs) : null;
}
