/**
 * What a transaction is to a payer who asks after it: a node says what it saw, and here it is decided what that means for one session.
 *
 * A look-up tells and never credits. What counts is what a follower has read, block by block, and nothing else.
 * @module
 */
import type { Currency } from './transfer.ts';

/** Something of value that a transaction brought to an address key. `currency` is null for any other token and for the network's own coin. */
export type ReportedTransfer = Readonly<{ to: string; currency: Currency | null }>;

/**
 * What a node knows of a transaction.
 * - `unknown`: it never heard of it, or has forgotten it.
 * - `waiting`: it was sent and stands in no block yet.
 * - `mined`: it stands in block `number`; a failed one moved nothing.
 */
export type TransactionReport =
  | Readonly<{ kind: 'unknown' | 'waiting' }>
  | Readonly<{ kind: 'mined'; number: number; succeeded: boolean; transfers: readonly ReportedTransfer[] }>;

/**
 * What a session's payer is to be told of a transaction on one network.
 * - `kept`: it paid this session, and its transfers are among the session's own.
 * - `unread`: it paid this session, in a block that the follower may still come to.
 * - `missed`: it paid this session, in a block that is final and was read without it: only reading again credits it.
 * - `wrong_token`, `wrong_network`: it went to this session's address, and cannot pay it.
 * - `other_order`: it paid another session. Nobody is told which.
 * - `elsewhere`: nothing of it came to an address of ours.
 */
export const findings = [
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
export type LookupResult = (typeof findings)[number];

/** What is known here of the transaction's recipients and of the session. */
export type LookupContext = Readonly<{
  /** The session's own address key; null where it has none of the family. */
  ownKey: string | null;
  /** Whether another session has taken the address. */
  isOthers(key: string): boolean;
  accepts: readonly Currency[];
  /** The network is of the session's mode. */
  isOwnNetwork: boolean;
  /** A transfer of the transaction to the session's address is held, in a canonical block. */
  isKept: boolean;
  /** The height up to which the follower's chain is final. */
  floor: number;
}>;

/** Recipients that are looked up among our addresses; an airdrop may have thousands. */
const OTHERS_ASKED_MAX = 200;

export function judge(report: TransactionReport, context: LookupContext): LookupResult {
  if (report.kind !== 'mined') return report.kind;
  const { number, succeeded, transfers } = report;
  if (!succeeded) return 'failed';
  const own = transfers.filter(({ to }) => to === context.ownKey);
  if (own.length === 0) {
    const isOthers = transfers.slice(0, OTHERS_ASKED_MAX).some(({ to }) => context.isOthers(to));
    return isOthers ? 'other_order' : 'elsewhere';
  }
  if (!context.isOwnNetwork) return 'wrong_network';
  if (!own.some(({ currency }) => currency !== null && context.accepts.includes(currency))) return 'wrong_token';
  if (context.isKept) return 'kept';
  return number <= context.floor ? 'missed' : 'unread';
}

/** After this long nothing more is asked of a node; whoever still wants to know asks again. */
export const LOOKUP_AGE_MS_MAX = 15 * 60_000;
const AGAIN_MS_MIN = 2000;

/** What may still become something else. */
const passing: readonly LookupResult[] = ['unknown', 'waiting', 'unread'];

/** When the node is asked once more (Unix ms): soon at first, then ever less often. Null when the answer stands. */
export function nextLookAtMs(finding: LookupResult, askedAtMs: number, nowMs: number): number | null {
  const ageMs = Math.max(0, nowMs - askedAtMs);
  const nextMs = nowMs + Math.max(AGAIN_MS_MIN, ageMs / 2);
  return passing.includes(finding) && nextMs < askedAtMs + LOOKUP_AGE_MS_MAX ? Math.ceil(nextMs) : null;
}
