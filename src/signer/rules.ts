/**
 * Decides whether an intent may be signed, or signed again, given what the journal has and what the policy allows.
 * @module
 */
import type { SpendRules, Terms } from '../chains/spend.ts';
import { type Fault, permanent } from '../core/fault.ts';
import { formatUnits } from '../core/money.ts';
import { GENERATIONS_MAX } from '../core/payout.ts';
import { DAY_MS } from '../lib/clock.ts';
import { APPROVAL_S_MAX, type ApprovedRefund, isApproved } from './approval.ts';
import type { CapUse, SignedIntent } from './journal.ts';
import type { NetworkPolicy, Policy } from './policy.ts';
import type { Approval, SignRequest } from './signer.ts';

/** An engine's fence rises by one per start. A much higher one is not an engine's, and would lock out the real one. */
const FENCE_STEP_MAX = 1_000_000;
const HOUR_MS = 3_600_000;

type Rule =
  | 'request'
  | 'policy'
  | 'fence'
  | 'intent'
  | 'generation'
  | 'attempt'
  | 'nonce'
  | 'mac'
  | 'approval'
  | 'cap'
  | 'terms'
  | 'check';

/** Returns the error for a request that breaks a rule. */
export const refused = (rule: Rule, message: string): Fault => permanent(`signer_refused_${rule}`, message);

/** Checks that no other engine was served since. @throws Fault `signer_refused_fence` */
export function checkFence(fence: number, highest: number): void {
  if (fence < highest) {
    throw refused(
      'fence',
      `this engine's fence is ${fence}, but ${highest} was already served: another engine is running, or the database was restored from a backup. Stop the other one, then run \`quayside payouts adopt\``,
    );
  }
  if (fence > highest + FENCE_STEP_MAX) {
    throw refused(
      'fence',
      `a fence of ${fence} after ${highest} cannot be an engine's; find out which program uses the signer's socket`,
    );
  }
}

export type Order = Readonly<{
  request: SignRequest;
  /** The intent's canonical text. */
  content: string;
  /** What the journal has of this intent. */
  known: SignedIntent | null;
  lane: SpendRules['lane'];
  nonce: number | null;
}>;

/** Returns the terms' sequence number; null if transactions expire instead. @throws Fault `signer_refused_nonce` */
export function nonceOf(lane: SpendRules['lane'], terms: Terms): number | null {
  if (lane === 'expiry') return null;
  const { nonce } = terms;
  if (nonce !== undefined && /^(0|[1-9]\d{0,14})$/.test(nonce)) return Number(nonce);
  throw refused('nonce', 'the terms have no sequence number (nonce)');
}

/**
 * Checks that a new signature may follow those in the journal.
 * @throws Fault `signer_refused_intent`, `…_generation`, `…_attempt`, `…_nonce`
 */
export function checkOrder({ request, content, known, lane, nonce }: Order): void {
  const { generation, attempt, proof } = request;
  if (known && known.content !== content) {
    throw refused(
      'intent',
      `${request.intent.id} was already signed with different contents; refusing to sign it again with these`,
    );
  }
  if (generation >= GENERATIONS_MAX) {
    throw refused('generation', `it has failed or expired ${generation} times; find out why before you resume it`);
  }
  if ((generation === 0) !== (proof === null)) {
    throw refused(
      'generation',
      'every generation except the first needs proof that the one before is dead or failed; the first has none',
    );
  }
  const newest = known?.newest.generation ?? -1;
  const isNext = generation === newest + 1;
  if (!isNext && generation !== newest) {
    throw refused('generation', `generation ${generation} is out of order: the next one to sign is ${newest + 1}`);
  }
  const attempts = isNext ? 0 : (known?.newest.attempts ?? 0);
  if (attempt !== attempts)
    throw refused('attempt', `attempt ${attempt} is out of order: the next one to sign is ${attempts}`);
  if (attempt === 0) return;
  if (lane === 'expiry')
    throw refused(
      'attempt',
      'a second attempt could take effect in addition to the first; sign a new generation once the first is dead',
    );
  if (nonce !== known?.newest.nonce) {
    throw refused(
      'nonce',
      `a replacement must have the sequence number of what it replaces: ${known?.newest.nonce}, not ${nonce}`,
    );
  }
}

/** How much of a cap was used in the last 60 minutes and in the UTC day. */
export type CapUses = Readonly<{ hourUnits: bigint; dayUnits: bigint }>;

/** Returns when the hour and the day begin (inclusive). If the clock was set back, later entries still count. */
export const capWindows = (nowMs: number): Readonly<{ hourMs: number; dayMs: number }> => ({
  hourMs: nowMs - HOUR_MS + 1,
  dayMs: nowMs - (nowMs % DAY_MS),
});

/** How much of a cap the first signature of an intent uses, or the approval that replaces the caps. */
export type Grant = Readonly<{ capUse: CapUse | null; approval: Approval | null }>;

export type RefundOrder = Readonly<{
  refund: ApprovedRefund;
  approval: Approval | null;
  network: NetworkPolicy;
  approvers: Policy['approvers'];
  used: CapUses;
  nowMs: number;
}>;

/**
 * Checks that a refund is within the caps of its currency or approved. An approved refund uses up none of the caps.
 * @throws Fault `signer_refused_approval`, `signer_refused_cap`
 */
export function grantRefund({ refund, approval, network, approvers, used, nowMs }: RefundOrder): Grant {
  const { currency, units, id } = refund;
  const caps = network.caps[currency];
  const token = network.spend.tokens.find(({ symbol }) => symbol === currency);
  if (!caps || !token) throw refused('policy', `the policy has no ${currency} on ${network.key}`);
  const isWithin =
    units <= caps.transactionUnits &&
    used.hourUnits + units <= caps.hourUnits &&
    used.dayUnits + units <= caps.dayUnits;
  if (isWithin) return { capUse: { cap: currency, units }, approval: null };
  if (approval) {
    checkApproval(approval, refund, approvers, nowMs);
    return { capUse: null, approval };
  }
  const show = (value: bigint) => `${formatUnits(value, token.decimals, 2)} ${currency}`;
  const approve = `\`quayside refunds approve ${id}\``;
  if (units > caps.transactionUnits) {
    throw refused(
      'approval',
      `${show(units)} is above the cap of ${show(caps.transactionUnits)} per refund: run ${approve}`,
    );
  }
  throw refused(
    'cap',
    `${show(units)} more would exceed the cap of the last hour (${show(used.hourUnits)} of ${show(caps.hourUnits)} used) or of this UTC day (${show(used.dayUnits)} of ${show(caps.dayUnits)} used): wait, or run ${approve}`,
  );
}

function checkApproval(
  approval: Approval,
  refund: ApprovedRefund,
  approvers: Policy['approvers'],
  nowMs: number,
): void {
  const deny = (why: string) => refused('approval', `the approval of ${refund.id} is not valid: ${why}`);
  if (!approvers.some(({ key }) => key === approval.approver))
    throw deny('its key is not among the approvers in the policy');
  if (!isApproved(approval, refund)) throw deny('its signature is wrong, or for another refund');
  const leftMs = approval.untilS * 1000 - nowMs;
  if (leftMs < 0) throw deny('it has expired; approve the refund again');
  if (leftMs > APPROVAL_S_MAX * 1000)
    throw deny('it is valid for too long; approve the refund again, for at most a week');
}

/** Checks that native coin for a deposit address is within the caps. @throws Fault `signer_refused_cap` */
export function grantGas(
  units: bigint,
  { gasCaps }: NetworkPolicy,
  usedDayUnits: bigint,
  nativeDecimals: number,
): Grant {
  const show = (value: bigint) => formatUnits(value, nativeDecimals);
  if (units > gasCaps.transactionUnits) {
    throw refused('cap', `${show(units)} of gas is above the cap of ${show(gasCaps.transactionUnits)} per top-up`);
  }
  if (usedDayUnits + units > gasCaps.dayUnits) {
    throw refused(
      'cap',
      `${show(units)} more gas would exceed the cap of this UTC day (${show(usedDayUnits)} of ${show(gasCaps.dayUnits)} used)`,
    );
  }
  return { capUse: { cap: 'gas', units }, approval: null };
}
