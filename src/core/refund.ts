/**
 * Refunds: whether one is permitted, how it is paid, and its statuses. The functions are pure. The database loads the
 * inputs and saves the result in one transaction, so that concurrent calls can never refund more than was received.
 *
 *   pending ──► processing ──► completed     canceled: by the merchant while processing, until a signature is
 *      └──► failed ◄──┘                                requested, or by the operator while pending
 */
import { invariant } from './fault.ts';
import { MINOR_DECIMALS, parseUnits, pow10 } from './money.ts';
import { type Currency, currencies, type NetworkKey } from './transfer.ts';

/** The documented statuses. The last three are final. */
export type RefundStatus = 'pending' | 'processing' | 'completed' | 'failed' | 'canceled';

export const refundReasons = ['requested_by_customer', 'duplicate', 'fraudulent', 'expired_uncaptured'] as const;
export type RefundReason = (typeof refundReasons)[number];

const AMOUNT = /^(0|[1-9][0-9]*)(\.[0-9]{1,2})?$/;
/** Most characters of an amount. No amount of a stablecoin has as many. */
const AMOUNT_CHARACTERS_MAX = 24;

/**
 * Reads the amount of a refund, in stablecoin minor units.
 * @returns the amount, or the fault as a phrase that follows the field's name
 */
export function readRefundAmount(text: string): bigint | string {
  if (text.length > AMOUNT_CHARACTERS_MAX || !AMOUNT.test(text)) {
    return 'must be digits with at most 2 decimals, without sign, leading zeros or spaces';
  }
  const minor = parseUnits(text, MINOR_DECIMALS);
  if (minor === null || minor <= 0n) return 'must be above zero';
  // The webhook sends it as an integer of minor units.
  return minor > BigInt(Number.MAX_SAFE_INTEGER) ? 'is larger than any payment' : minor;
}

/** A store's refund policy. */
export type RefundPolicy = Readonly<{
  /** Time after the payment in which a refund is permitted. */
  refundWindowS: number;
  /** Sum that one store may refund in one UTC day, in stablecoin minor units. */
  refundDailyMinor: number;
  /**
   * Largest sum in 24 hours without an approval, in stablecoin minor units. It applies separately to each session,
   * destination and asker.
   */
  refundAutoMinor: number;
  /** Time in which a processing refund can still be canceled, unless it is signed first. */
  refundCancelWindowS: number;
  /** Time that a claim link waits for the payer's address. */
  refundClaimS: number;
  /** Whether a refund without a destination goes to the sender's address, which may belong to an exchange. */
  refundToSender: boolean;
  /** Sum that a session may refund in one currency before its receipts are final, in stablecoin minor units. */
  refundEarlyMaxMinor: number;
}>;

export const defaultRefundPolicy: RefundPolicy = {
  refundWindowS: 180 * 24 * 3600,
  refundDailyMinor: 10_000_00,
  refundAutoMinor: 1_000_00,
  refundCancelWindowS: 60,
  refundClaimS: 30 * 24 * 3600,
  refundToSender: false,
  refundEarlyMaxMinor: 0,
};

/** A session's confirmed receipts in one token on one network. */
export type ReceivedPart = Readonly<{
  network: NetworkKey;
  currency: Currency;
  decimals: number;
  units: bigint;
}>;

/** The facts of an earlier refund that matter to the next one of the session. */
export type EarlierRefund = Readonly<{
  network: NetworkKey;
  currency: Currency;
  amountMinor: bigint;
  status: RefundStatus;
}>;

/** The documented refusal codes that depend on the session, in the order of the checks. */
export type RefundRefusal =
  | 'INVALID_SESSION_STATUS'
  | 'INVALID_CURRENCY'
  | 'REFUND_AMOUNT_EXCEEDED'
  | 'REFUND_TIME_EXPIRED'
  | 'DAILY_REFUND_LIMIT_EXCEEDED';

type RefundJudgement =
  | Readonly<{ kind: 'refused'; why: RefundRefusal }>
  /** `part` names the network to pay on. `units` are base units of its token. */
  | Readonly<{ kind: 'accepted'; part: ReceivedPart; units: bigint }>;

/** Returns whether a refund reduces the refundable amount. A failed or canceled refund does not. */
export const isHeld = ({ status }: Pick<EarlierRefund, 'status'>): boolean =>
  status !== 'failed' && status !== 'canceled';

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

/**
 * Converts stablecoin minor units (0.01) to base units of a token. Exact, because every token has at least two
 * decimals.
 */
export function minorToUnits(minor: bigint, decimals: number): bigint {
  invariant(decimals >= MINOR_DECIMALS, `a token with ${decimals} decimals cannot pay cents`);
  return minor * pow10(decimals - MINOR_DECIMALS);
}

/** Converts base units to whole minor units, rounded down, because fractions of a cent are not refundable. */
const unitsToMinor = (units: bigint, decimals: number): bigint => units / pow10(decimals - MINOR_DECIMALS);

/**
 * Judges whether an amount of a currency may be refunded for a session.
 * @param amountMinor above zero, in stablecoin minor units
 * @param received the session's confirmed money
 * @param earlier every refund of the session so far
 * @param todayMinor the store's refunds of today, without this one
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
  return { kind: 'accepted', part, units: minorToUnits(amountMinor, part.decimals) };
}

/** Period of the refunds that count towards the amount without approval. */
export const RECENT_MS = 24 * 3600 * 1000;

/** Sums of other refunds in the last 24 hours, in minor units: of one session, to one address, for one asker. */
export type RecentRefunds = Readonly<{ sessionMinor: bigint; destinationMinor: bigint; askerMinor: bigint }>;

type Asked = Readonly<{
  id: string;
  sessionId: string;
  destination: string | null;
  requestedBy: string | null;
  requestedKey: string | null;
}>;

/** Returns the sums of a store's recent refunds that count together with one of them. */
export function recentRefunds(
  { id, sessionId, destination, requestedBy, requestedKey }: Asked,
  recent: readonly (Asked & Readonly<{ amountMinor: bigint }>)[],
): RecentRefunds {
  const sumOf = (counts: (other: Asked) => boolean): bigint =>
    recent.reduce((sum, other) => (other.id !== id && counts(other) ? sum + other.amountMinor : sum), 0n);
  return {
    sessionMinor: sumOf((other) => other.sessionId === sessionId),
    // All networks count together, because an EVM address belongs to the same person on all of them.
    destinationMinor: sumOf((other) => destination !== null && other.destination === destination),
    askerMinor: sumOf(
      (other) =>
        (requestedBy !== null && other.requestedBy === requestedBy) ||
        (requestedKey !== null && other.requestedKey === requestedKey),
    ),
  };
}

/**
 * Returns whether a refund needs an approval. It does if it brings the sum of one session, one destination or one asker
 * in 24 hours above the store's limit.
 */
export const exceedsAutomatic = (
  amountMinor: bigint,
  { sessionMinor, destinationMinor, askerMinor }: RecentRefunds,
  { refundAutoMinor }: Pick<RefundPolicy, 'refundAutoMinor'>,
): boolean =>
  [sessionMinor, destinationMinor, askerMinor].some((minor) => minor + amountMinor > BigInt(refundAutoMinor));

/**
 * Returns the refundable rest of each coin that a session received, in minor units, and the network of its next refund.
 */
export function refundable(
  received: readonly ReceivedPart[],
  earlier: readonly EarlierRefund[],
): readonly Readonly<{ currency: Currency; network: NetworkKey; leftMinor: bigint }>[] {
  return currencies.flatMap((currency) => {
    const parts = received.filter((part) => part.currency === currency && part.units > 0n);
    if (parts.length === 0) return [];
    const held = earlier.filter((refund) => refund.currency === currency && isHeld(refund));
    const left = receivedMinorOf(currency, received) - heldMinorOf(currency, earlier);
    return [{ currency, network: choosePart(parts, held).network, leftMinor: left > 0n ? left : 0n }];
  });
}

/** Returns the network with the largest refundable rest. Among equals the first in the order of payment wins. */
function choosePart(parts: readonly ReceivedPart[], held: readonly EarlierRefund[]): ReceivedPart {
  const leftMinor = (part: ReceivedPart): bigint =>
    unitsToMinor(part.units, part.decimals) -
    sum(held.filter(({ network }) => network === part.network).map((refund) => refund.amountMinor));
  return parts.reduce((best, part) => (leftMinor(part) > leftMinor(best) ? part : best));
}

/**
 * Returns whether a session's confirmed money still covers every held refund of a currency. A reorg may have taken back
 * money after the refunds were made.
 */
export function isCovered(
  currency: Currency,
  received: readonly ReceivedPart[],
  refunds: readonly EarlierRefund[],
): boolean {
  return heldMinorOf(currency, refunds) <= receivedMinorOf(currency, received);
}

/**
 * Returns whether final receipts cover every held refund of a currency, apart from the amount that the store refunds
 * early.
 */
export const isCoveredByFinal = (
  currency: Currency,
  final: readonly ReceivedPart[],
  refunds: readonly EarlierRefund[],
  { refundEarlyMaxMinor }: Pick<RefundPolicy, 'refundEarlyMaxMinor'>,
): boolean => heldMinorOf(currency, refunds) - receivedMinorOf(currency, final) <= BigInt(refundEarlyMaxMinor);

/**
 * The source of a refund's destination: the payer on the payment page or by claim link, the merchant, the operator, or
 * the sender's address of the payment.
 */
export const destinationSources = ['payer', 'claim_link', 'merchant', 'operator', 'sender'] as const;
export type DestinationFrom = (typeof destinationSources)[number];

const isPayers = (from: DestinationFrom): boolean => from === 'payer' || from === 'claim_link';

/**
 * Returns whether `by` may replace a destination. A payer may replace only a payer's. A merchant and the operator may
 * replace any.
 */
export const mayReplace = (held: DestinationFrom | null, by: DestinationFrom): boolean =>
  held === null || !isPayers(by) || isPayers(held);

/**
 * Rounds each part to minor units before adding, because fractions of a cent on two networks cannot be paid out
 * together.
 */
const receivedMinorOf = (currency: Currency, received: readonly ReceivedPart[]): bigint =>
  sum(received.filter((part) => part.currency === currency).map((part) => unitsToMinor(part.units, part.decimals)));

const heldMinorOf = (currency: Currency, refunds: readonly EarlierRefund[]): bigint =>
  sum(refunds.filter((one) => one.currency === currency && isHeld(one)).map(({ amountMinor }) => amountMinor));

/** The fields of a refund that decide its next step. */
export type RefundLife = Readonly<{
  status: RefundStatus;
  destination: string | null;
  needsApproval: boolean;
  approvedDestination: string | null;
  claimUntilS: number | null;
}>;

/**
 * Returns whether a refund may be paid to its destination, because it needs no approval or has one for this address.
 */
export const isApproved = ({
  destination,
  needsApproval,
  approvedDestination,
}: Pick<RefundLife, 'destination' | 'needsApproval' | 'approvedDestination'>): boolean =>
  !needsApproval || (destination !== null && approvedDestination === destination);

type RefundStep = 'start' | 'expire' | null;

export type RefundEnd = Readonly<{ kind: 'completed'; tx: string }> | Readonly<{ kind: 'failed'; reason: string }>;

/**
 * Returns the next step of a pending refund. It starts once it has a destination and, if needed, an approval of that
 * destination. It fails once its claim link has expired.
 */
export function nextRefundStep(life: RefundLife, nowS: number): RefundStep {
  if (life.status !== 'pending') return null;
  if (life.destination !== null) return isApproved(life) ? 'start' : null;
  return life.claimUntilS !== null && nowS > life.claimUntilS ? 'expire' : null;
}

/** Returns the receipt number of a completed refund. A store's numbers have no gaps, even across years. */
export function receiptNumber(serial: number, year: number): string {
  invariant(Number.isInteger(serial) && serial > 0 && serial < 100_000_000, `receipt ${serial} has at most 8 digits`);
  return `RF-${year}-${String(serial).padStart(8, '0')}`;
}
