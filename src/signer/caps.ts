/**
 * The caps of the policy on amounts, fees and the number of signatures. They are counted from the journal and hold for
 * every caller. A dead or failed attempt still counts, because the signer cannot check the payout engine's word for it.
 */
import type { PaybackIntent } from '../core/intent.ts';
import { formatUnits } from '../core/money.ts';
import type { Token } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import { faultOfApproval, paybackText } from './approval.ts';
import type { CapUse } from './journal.ts';
import type { CountCaps, FeeCaps, NetworkPolicy, Policy } from './policy.ts';
import type { Approval } from './protocol.ts';
import { refused } from './rules.ts';

const HOUR_MS = 3_600_000;

/** Units of a cap that were used in the last 60 minutes and in the UTC day. */
export type CapUses = Readonly<{ hourUnits: bigint; dayUnits: bigint }>;

/**
 * Returns the times at which the hour and the day begin (inclusive). Entries after the present time count too, because
 * the clock may have been set back.
 */
export const capWindows = (nowMs: number): Readonly<{ hourMs: number; dayMs: number }> => ({
  hourMs: nowMs - HOUR_MS + 1,
  dayMs: nowMs - (nowMs % DAY_MS),
});

/** The part of the cap that a generation uses, or the approval with which it is signed instead. */
export type Grant = Readonly<{ capUse: CapUse | null; approval: Approval | null }>;

type RefundOrder = Readonly<{
  refund: PaybackIntent;
  /** Its canonical text. */
  content: string;
  approval: Approval | null;
  /** Signatures of the approvals that earlier generations of the refund used. */
  usedApprovals: readonly string[];
  network: NetworkPolicy;
  approvers: Policy['approvers'];
  used: CapUses;
  nowMs: number;
}>;

/**
 * Checks that a generation of a refund is within the caps of its currency, or approved. A refund above the caps uses up
 * none of them.
 * @throws Fault `signer_refused_approval`, `signer_refused_cap`
 */
export function grantRefund(order: RefundOrder): Grant {
  const { refund, approval, network, used } = order;
  const { currency, units, id } = refund;
  const caps = network.caps[currency];
  const token = network.spend.tokens.find(({ symbol }) => symbol === currency);
  if (!caps || !token) throw refused('policy', `the policy has no ${currency} on ${network.key}`);
  const isWithin =
    units <= caps.transactionUnits &&
    used.hourUnits + units <= caps.hourUnits &&
    used.dayUnits + units <= caps.dayUnits;
  if (isWithin) return { capUse: { cap: currency, units }, approval: null };
  const fault = approval && approvalFault(order, approval, token);
  if (approval && !fault) return { capUse: null, approval };
  const show = (value: bigint) => `${formatUnits(value, token.decimals, 2)} ${currency}`;
  const why = fault ? ` (${fault})` : '';
  const request = `\`quayside show ${id} --request\` shows an approver what to sign`;
  if (units <= caps.transactionUnits && !approval) {
    throw refused(
      'cap',
      `${show(units)} more would exceed the cap of the last hour (${show(used.hourUnits)} of ${show(caps.hourUnits)} used) or of this UTC day (${show(used.dayUnits)} of ${show(caps.dayUnits)} used): wait, or have it approved: ${request}`,
    );
  }
  throw refused(
    'approval',
    `${show(units)} is above the caps (${show(caps.transactionUnits)} for each refund) and has no valid approval${why}: ${request}`,
  );
}

/** Returns why an approval does not count; null if it does. */
function approvalFault(
  { refund, content, usedApprovals, network, approvers, nowMs }: RefundOrder,
  approval: Approval,
  token: Token,
): string | null {
  const text = paybackText(refund, content, { family: network.family, chainId: network.spend.chainId, token });
  const fault = faultOfApproval(approval, { text, what: refund.id, approvers, nowMs });
  // Otherwise an engine that claims "dead" could get the approved amount signed several times.
  if (fault === null && usedApprovals.includes(approval.signature))
    return 'the refund was signed with it before; make sure that it was not paid, then approve it again';
  return fault;
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

/**
 * Checks that the fees of all signatures stay within the caps.
 * @param units the highest fee less that of the replaced transaction, because only one of the two can be mined
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
