/**
 * The caps of the policy, which bound everything that the signer signs, whoever asks: amounts, fees and the number of
 * signatures, counted from the journal. Nothing counted is ever given back: that an attempt is dead or failed is the
 * payout engine's word, which the signer cannot check.
 * @module
 */
import { Fault } from '../core/fault.ts';
import type { PaybackIntent } from '../core/intent.ts';
import { formatUnits } from '../core/money.ts';
import type { ApprovalCount } from '../core/payout.ts';
import type { Token } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import { checkApproval, paybackText } from './approval.ts';
import type { CapUse } from './journal.ts';
import type { CountCaps, FeeCaps, NetworkPolicy, Policy, Threshold } from './policy.ts';
import { refused } from './rules.ts';
import { type Approval, ApprovalMissing } from './signer.ts';

const HOUR_MS = 3_600_000;

/** How much of a cap was used in the last 60 minutes and in the UTC day. */
export type CapUses = Readonly<{ hourUnits: bigint; dayUnits: bigint }>;

/** Returns when the hour and the day begin (inclusive). If the clock was set back, later entries still count. */
export const capWindows = (nowMs: number): Readonly<{ hourMs: number; dayMs: number }> => ({
  hourMs: nowMs - HOUR_MS + 1,
  dayMs: nowMs - (nowMs % DAY_MS),
});

/** What a generation uses of the amount's cap, and the approvals that it is signed with. */
export type Grant = Readonly<{ capUse: CapUse | null; approvals: readonly Approval[] }>;

export type RefundOrder = Readonly<{
  refund: PaybackIntent;
  /** Its canonical text. */
  content: string;
  approvals: readonly Approval[];
  /** Signatures of approvals that earlier generations of the refund were signed with. */
  usedApprovals: readonly string[];
  network: NetworkPolicy;
  approvers: Policy['approvers'];
  used: CapUses;
  nowMs: number;
}>;

/**
 * Checks that a generation of a refund is within the caps of its currency or approved, and that as many approvers as
 * the policy wants for its amount have approved it. One above the caps uses up none of them.
 * @throws Fault `signer_refused_approval`, `signer_refused_cap`
 */
export function grantRefund(order: RefundOrder): Grant {
  const { refund, network, used } = order;
  const { currency, units, id } = refund;
  const caps = network.caps[currency];
  const token = network.spend.tokens.find(({ symbol }) => symbol === currency);
  if (!caps || !token) throw refused('policy', `the policy has no ${currency} on ${network.key}`);
  const isWithin =
    units <= caps.transactionUnits &&
    used.hourUnits + units <= caps.hourUnits &&
    used.dayUnits + units <= caps.dayUnits;
  const needed = approvalsNeeded(network.approvals[currency] ?? [], units, isWithin);
  const capUse = isWithin ? { cap: currency, units } : null;
  if (needed === 0) return { capUse, approvals: [] };
  const show = (value: bigint) => `${formatUnits(value, token.decimals, 2)} ${currency}`;
  const { valid, faults } = validApprovals(order, token);
  if (valid.length >= needed) return { capUse, approvals: valid };
  const request = `\`quayside refunds request ${id}\` shows an approver what to sign`;
  const count: ApprovalCount = {
    needed,
    valid: valid.map(({ approver }) => ({ approver, name: nameOf(order, approver) })),
  };
  const isOnlyTime = needed === 1 && faults.length === 0 && units <= caps.transactionUnits && !isWithin;
  if (isOnlyTime) {
    throw new ApprovalMissing(
      'signer_refused_cap',
      `${show(units)} more would exceed the cap of the last hour (${show(used.hourUnits)} of ${show(caps.hourUnits)} used) or of this UTC day (${show(used.dayUnits)} of ${show(caps.dayUnits)} used): wait, or have it approved: ${request}`,
      count,
    );
  }
  const why = faults.length > 0 ? ` (${faults.join('; ')})` : '';
  throw new ApprovalMissing(
    'signer_refused_approval',
    `${show(units)} has ${valid.length} of ${needed} valid approvals, and the cap per refund is ${show(caps.transactionUnits)}${why}: ${request}`,
    count,
  );
}

const nameOf = ({ approvers }: RefundOrder, approver: string): string =>
  approvers.find(({ key }) => key === approver)?.name ?? approver;

/** Returns how many approvers a refund needs: those of the highest threshold that it exceeds, one above the caps. */
const approvalsNeeded = (thresholds: readonly Threshold[], units: bigint, isWithin: boolean): number =>
  Math.max(isWithin ? 0 : 1, ...thresholds.map(({ aboveUnits, needed }) => (units > aboveUnits ? needed : 0)));

/** Returns the valid approvals, one for each approver, and why the others are not valid. */
function validApprovals(
  { refund, content, approvals, usedApprovals, network, approvers, nowMs }: RefundOrder,
  token: Token,
) {
  const text = paybackText(refund, content, { family: network.family, chainId: network.spend.chainId, token });
  const valid = new Map<string, Approval>();
  const faults: string[] = [];
  for (const approval of approvals) {
    try {
      checkApproval(approval, { text, what: refund.id, approvers, nowMs });
      // Otherwise an engine that claims "dead" gets the approved amount signed several times.
      if (usedApprovals.includes(approval.signature))
        throw refused(
          'approval',
          'the refund was signed with it before; make sure that it was not paid, then approve it again',
        );
      valid.set(approval.approver, approval);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(error.message);
    }
  }
  return { valid: [...valid.values()], faults };
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
  return { capUse: { cap: 'gas', units }, approvals: [] };
}

/**
 * Checks that the fees of all signatures stay within the caps.
 * @param units by how much a transaction can cost more than the one that it replaces, of which only one can be mined
 * @throws Fault `signer_refused_cap`
 */
export function grantFee(units: bigint, { hourUnits, dayUnits }: FeeCaps, used: CapUses, decimals: number): CapUse {
  if (used.hourUnits + units > hourUnits || used.dayUnits + units > dayUnits) {
    const show = (value: bigint) => formatUnits(value, decimals);
    throw refused(
      'cap',
      `fees of up to ${show(units)} more would exceed fee_caps in the policy for the last hour (${show(used.hourUnits)} of ${show(hourUnits)} used) or this UTC day (${show(used.dayUnits)} of ${show(dayUnits)} used): wait, or raise them in the signer's policy.json`,
    );
  }
  return { cap: 'fee', units };
}

/** Checks that one more signature is within the caps on their number. @throws Fault `signer_refused_cap` */
export function checkCount({ hour, day }: CountCaps, used: Readonly<{ hour: number; day: number }>): void {
  if (used.hour < hour && used.day < day) return;
  throw refused(
    'cap',
    `one more signature would exceed count_caps in the policy for the last hour (${used.hour} of ${hour} made) or this UTC day (${used.day} of ${day} made): wait, or raise them in the signer's policy.json`,
  );
}
