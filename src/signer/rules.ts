/**
 * When an intent may be signed, and signed again. Decisions only: the journal says what was, the policy what may be.
 * @module
 */
import type { SpendRules, Terms } from '../chains/spend.ts';
import { type Fault, permanent } from '../core/fault.ts';
import { formatUnits } from '../core/money.ts';
import { APPROVAL_S_MAX, type ApprovedRefund, isApproved } from './approval.ts';
import type { CapUse, SignedIntent } from './journal.ts';
import type { NetworkPolicy, Policy } from './policy.ts';
import type { Approval, SignRequest } from './signer.ts';

/** How often a payment may be signed anew; what fails so often needs a person. */
export const GENERATIONS_MAX = 5;
/** An engine's turn rises by one at each start. A greater leap is no engine's, and would lock the true one out. */
const FENCE_STEP_MAX = 1_000_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

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

/** A request that must not be served, with the rule that it breaks. */
export const refused = (rule: Rule, message: string): Fault => permanent(`signer_refused_${rule}`, message);

/** @throws Fault `signer_refused_fence` */
export function checkFence(fence: number, highest: number): void {
  if (fence < highest) {
    throw refused(
      'fence',
      `this engine's turn is ${fence}, and ${highest} was served already: another engine runs, or the database was put back to an earlier state. Stop the other one, then run \`quayside payouts adopt\``,
    );
  }
  if (fence > highest + FENCE_STEP_MAX) {
    throw refused('fence', `a turn of ${fence} after ${highest} is no engine's; see who writes to the signer's socket`);
  }
}

export type Order = Readonly<{
  request: SignRequest;
  /** The intent's canonical text. */
  content: string;
  /** What was signed of this intent before. */
  known: SignedIntent | null;
  lane: SpendRules['lane'];
  nonce: number | null;
}>;

/** The sequence number in an attempt's terms; null where lanes expire. @throws Fault `signer_refused_nonce` */
export function nonceOf(lane: SpendRules['lane'], terms: Terms): number | null {
  if (lane === 'expiry') return null;
  const { nonce } = terms;
  if (nonce !== undefined && /^(0|[1-9]\d{0,14})$/.test(nonce)) return Number(nonce);
  throw refused('nonce', 'the terms name no sequence number (nonce)');
}

/**
 * Whether a signature that is not in the journal yet may follow those that are.
 * @throws Fault `signer_refused_intent`, `…_generation`, `…_attempt`, `…_nonce`
 */
export function checkOrder({ request, content, known, lane, nonce }: Order): void {
  const { generation, attempt, proof } = request;
  if (known && known.content !== content) {
    throw refused('intent', `${request.intent.id} was signed before with other words, and is never signed with these`);
  }
  if (generation >= GENERATIONS_MAX) {
    throw refused('generation', `it failed or expired ${generation} times already: a person must look at why`);
  }
  if ((generation === 0) !== (proof === null)) {
    throw refused(
      'generation',
      'a generation after the first, and only that, comes with proof that the one before is dead or failed',
    );
  }
  const newest = known?.newest.generation ?? -1;
  const isNext = generation === newest + 1;
  if (!isNext && generation !== newest) {
    throw refused('generation', `generation ${generation} is out of order: the next one to sign is ${newest + 1}`);
  }
  const attempts = isNext ? 0 : (known?.newest.attempts ?? 0);
  if (attempt !== attempts) throw refused('attempt', `attempt ${attempt} does not follow ${attempts} that were signed`);
  if (attempt === 0) return;
  if (lane === 'expiry')
    throw refused(
      'attempt',
      'a second attempt could stand on the chain beside the first; only a dead one is signed anew',
    );
  if (nonce !== known?.newest.nonce) {
    throw refused(
      'nonce',
      `a replacement has the sequence number of what it replaces, ${known?.newest.nonce}, not ${nonce}`,
    );
  }
}

/** What was taken out of a cap in the hour and in the UTC day up to a moment. */
export type CapUses = Readonly<{ hourUnits: bigint; dayUnits: bigint }>;

/**
 * Since when the hour and the day count, that moment included. A clock that was put back leaves later entries counted.
 */
export const capWindows = (nowMs: number): Readonly<{ hourMs: number; dayMs: number }> => ({
  hourMs: nowMs - HOUR_MS + 1,
  dayMs: nowMs - (nowMs % DAY_MS),
});

/** What the first signature of an intent takes out of the caps, or the approval that stands in their place. */
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
 * Whether a refund is within its currency's caps, or approved beyond them. An approved refund takes nothing out of the caps.
 * @throws Fault `signer_refused_approval`, `signer_refused_cap`
 */
export function grantRefund({ refund, approval, network, approvers, used, nowMs }: RefundOrder): Grant {
  const { currency, units, id } = refund;
  const caps = network.caps[currency];
  const token = network.spend.tokens.find(({ symbol }) => symbol === currency);
  if (!caps || !token) throw refused('policy', `the policy knows no ${currency} on ${network.key}`);
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
      `${show(units)} is above the cap of ${show(caps.transactionUnits)} for one refund: ${approve}`,
    );
  }
  throw refused(
    'cap',
    `with ${show(units)} more, the last hour (${show(used.hourUnits)} of ${show(caps.hourUnits)}) or this UTC day (${show(used.dayUnits)} of ${show(caps.dayUnits)}) would go beyond its cap: wait, or ${approve}`,
  );
}

function checkApproval(
  approval: Approval,
  refund: ApprovedRefund,
  approvers: Policy['approvers'],
  nowMs: number,
): void {
  const deny = (why: string) => refused('approval', `the approval of ${refund.id} does not count: ${why}`);
  if (!approvers.some(({ key }) => key === approval.approver))
    throw deny('its key is none of the approvers in the policy');
  if (!isApproved(approval, refund)) throw deny('its signature is wrong, or for another refund');
  const leftMs = approval.untilS * 1000 - nowMs;
  if (leftMs < 0) throw deny('it has expired; approve the refund again');
  if (leftMs > APPROVAL_S_MAX * 1000)
    throw deny('it is good for too long; approve the refund again, for a week at most');
}

/** Whether native coin for a collection address is within the caps. @throws Fault `signer_refused_cap` */
export function grantGas(
  units: bigint,
  { gasCaps }: NetworkPolicy,
  usedDayUnits: bigint,
  nativeDecimals: number,
): Grant {
  const show = (value: bigint) => formatUnits(value, nativeDecimals);
  if (units > gasCaps.transactionUnits) {
    throw refused('cap', `${show(units)} of gas is above the cap of ${show(gasCaps.transactionUnits)} for one top-up`);
  }
  if (usedDayUnits + units > gasCaps.dayUnits) {
    throw refused(
      'cap',
      `with ${show(units)} more, this UTC day (${show(usedDayUnits)} of ${show(gasCaps.dayUnits)} of gas) would go beyond its cap`,
    );
  }
  return { capUse: { cap: 'gas', units }, approval: null };
}
