/**
 * Refunds: whether one may be made, how it is paid, and the steps of its life. All pure; the store loads what is asked for here and saves
 * what comes out, in one transaction, so that no number of calls at once can refund more than was received.
 *
 *   pending ──► processing ──► completed          canceled: by the merchant while processing, until a signature is under way,
 *      └──► failed ◄──┘                                     or by the operator while pending
 * @module
 */
import { invariant } from './fault.ts';
import { MINOR_DECIMALS, pow10 } from './money.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** The documented statuses. The last three are final. */
export type RefundStatus = 'pending' | 'processing' | 'completed' | 'failed' | 'canceled';

export const refundReasons = ['requested_by_customer', 'duplicate', 'fraudulent', 'expired_uncaptured'] as const;
export type RefundReason = (typeof refundReasons)[number];

/** A store's refund policy. */
export type RefundPolicy = Readonly<{
  /** How long after the payment a refund may be made. */
  refundWindowS: number;
  /** What one store may refund in one UTC day, in stablecoin minor units. */
  refundDailyMinor: number;
  /** Refunds up to this need no approval by the operator. */
  refundAutoMinor: number;
  /** How long a refund that is processing can still be canceled, unless it is signed before. */
  refundCancelWindowS: number;
  /** How long a claim link waits for the payer's address. */
  refundClaimS: number;
  /** Whether money may go back to the address it came from when nobody named another; it may be an exchange's. */
  refundToSender: boolean;
}>;

export const defaultRefundPolicy: RefundPolicy = {
  refundWindowS: 180 * 24 * 3600,
  refundDailyMinor: 10_000_00,
  refundAutoMinor: 1_000_00,
  refundCancelWindowS: 60,
  refundClaimS: 30 * 24 * 3600,
  refundToSender: false,
};

/** What confirmed transfers brought to a session on one network in one token. */
export type ReceivedPart = Readonly<{
  network: NetworkKey;
  currency: Currency;
  decimals: number;
  units: bigint;
  /** Address key that sent the largest transfer. */
  sender: string;
}>;

/** An earlier refund of the same session, as far as it matters to the next. */
export type EarlierRefund = Readonly<{
  network: NetworkKey;
  currency: Currency;
  amountMinor: bigint;
  status: RefundStatus;
}>;

/** The documented codes of a refusal that depends on the session; in the order in which they are looked for. */
export type RefundRefusal =
  | 'INVALID_SESSION_STATUS'
  | 'INVALID_CURRENCY'
  | 'REFUND_AMOUNT_EXCEEDED'
  | 'REFUND_TIME_EXPIRED'
  | 'DAILY_REFUND_LIMIT_EXCEEDED';

export type RefundJudgement =
  | Readonly<{ kind: 'refused'; why: RefundRefusal }>
  /** `part` names the network to pay on; `units` are base units of its token. */
  | Readonly<{ kind: 'accepted'; part: ReceivedPart; units: bigint; needsApproval: boolean }>;

/** A refund that failed or was canceled takes nothing from what can be refunded. */
export const isHeld = ({ status }: Pick<EarlierRefund, 'status'>): boolean =>
  status !== 'failed' && status !== 'canceled';

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

/** Stablecoin minor units (0.01) as base units of a token. Exact, since no token that is taken has fewer than two decimals. */
export function minorToUnits(minor: bigint, decimals: number): bigint {
  invariant(decimals >= MINOR_DECIMALS, `a token with ${decimals} decimals cannot pay cents`);
  return minor * pow10(decimals - MINOR_DECIMALS);
}

/** Base units as whole minor units, rounded down: what a payer sent below a cent is not refundable. */
const unitsToMinor = (units: bigint, decimals: number): bigint => units / pow10(decimals - MINOR_DECIMALS);

/**
 * Whether an amount of a currency may be refunded for a session.
 * @param amountMinor above zero, in stablecoin minor units
 * @param received what the session holds, confirmed
 * @param earlier every refund of the session so far
 * @param todayMinor what the store has refunded today, this one not counted
 */
export function judgeRefund(
  asked: Readonly<{ amountMinor: bigint; currency: Currency }>,
  session: Readonly<{ status: string; paidAtS: number | null }>,
  received: readonly ReceivedPart[],
  earlier: readonly EarlierRefund[],
  policy: RefundPolicy,
  moment: Readonly<{ nowS: number; todayMinor: bigint }>,
): RefundJudgement {
  const { amountMinor, currency } = asked;
  invariant(amountMinor > 0n, 'a refund is above zero');
  const refused = (why: RefundRefusal): RefundJudgement => ({ kind: 'refused', why });
  if (session.status !== 'paid' || session.paidAtS === null) return refused('INVALID_SESSION_STATUS');
  const parts = received.filter((part) => part.currency === currency && part.units > 0n);
  if (parts.length === 0) return refused('INVALID_CURRENCY');
  const held = earlier.filter((refund) => refund.currency === currency && isHeld(refund));
  const heldMinor = heldMinorOf(currency, earlier);
  if (heldMinor + amountMinor > receivedMinorOf(currency, received)) return refused('REFUND_AMOUNT_EXCEEDED');
  if (moment.nowS > session.paidAtS + policy.refundWindowS) return refused('REFUND_TIME_EXPIRED');
  if (moment.todayMinor + amountMinor > BigInt(policy.refundDailyMinor)) return refused('DAILY_REFUND_LIMIT_EXCEEDED');
  const part = choosePart(parts, held);
  return {
    kind: 'accepted',
    part,
    units: minorToUnits(amountMinor, part.decimals),
    needsApproval: amountMinor > BigInt(policy.refundAutoMinor),
  };
}

/** The network that holds most of what is left to refund; of equals, the first in the order of payment. */
function choosePart(parts: readonly ReceivedPart[], held: readonly EarlierRefund[]): ReceivedPart {
  const leftMinor = (part: ReceivedPart): bigint =>
    unitsToMinor(part.units, part.decimals) -
    sum(held.filter(({ network }) => network === part.network).map((refund) => refund.amountMinor));
  return parts.reduce((best, part) => (leftMinor(part) > leftMinor(best) ? part : best));
}

/**
 * Whether a session's confirmed money still covers every refund of a currency that is held: a reorganisation may have taken back what was
 * there when they were made.
 */
export function isCovered(
  currency: Currency,
  received: readonly ReceivedPart[],
  refunds: readonly EarlierRefund[],
): boolean {
  return heldMinorOf(currency, refunds) <= receivedMinorOf(currency, received);
}

/** Parts add up as minor units of each: fractions of a cent on two networks are not money that anybody could be sent. */
const receivedMinorOf = (currency: Currency, received: readonly ReceivedPart[]): bigint =>
  sum(received.filter((part) => part.currency === currency).map((part) => unitsToMinor(part.units, part.decimals)));

const heldMinorOf = (currency: Currency, refunds: readonly EarlierRefund[]): bigint =>
  sum(refunds.filter((one) => one.currency === currency && isHeld(one)).map(({ amountMinor }) => amountMinor));

/** A refund's state, as far as its next step depends on it. */
export type RefundLife = Readonly<{
  status: RefundStatus;
  hasDestination: boolean;
  needsApproval: boolean;
  isApproved: boolean;
  claimUntilS: number | null;
}>;

export type RefundStep = 'start' | 'expire' | null;

/**
 * What time and facts do to a refund that is pending: it starts once it has a destination and every approval it needs, and fails once its
 * claim link has run out.
 */
export function nextRefundStep(life: RefundLife, nowS: number): RefundStep {
  if (life.status !== 'pending') return null;
  if (life.hasDestination) return life.needsApproval && !life.isApproved ? null : 'start';
  return life.claimUntilS !== null && nowS > life.claimUntilS ? 'expire' : null;
}

/** The number of a completed refund's receipt: gapless per store, whatever the year. */
export function receiptNumber(serial: number, year: number): string {
  invariant(Number.isInteger(serial) && serial > 0 && serial < 100_000_000, `receipt ${serial} has at most 8 digits`);
  return `RF-${year}-${String(serial).padStart(8, '0')}`;
}
