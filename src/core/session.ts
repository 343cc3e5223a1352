/**
 * Interprets the chain's facts for a payment session.
 *
 * `recount` adds up receipts by phase. The database stores these sums and updates them by deltas, because anyone can
 * send any number of transfers to an address. `standing` folds sums into orthogonal facts: how much is funded, how firm
 * that is, and how much came too late. `advance` derives the documented status from that standing and the clock.
 * `changes` names the events of a transition. All are pure, so a reorg needs no undo. The sums change, and the same
 * functions run again.
 */

import { type Arrival, type Beginning, isOlder } from './arrival.ts';
import type { Received } from './credit-policy.ts';
import type { PaymentEventType, SessionStatus } from './event.ts';
import { invariant } from './fault.ts';
import { graceOn, type InclusionGrace, longestGraceS } from './inclusion.ts';
import { toPar } from './money.ts';
import { type Currency, currencies, type NetworkKey } from './transfer.ts';

/** The promises made when the session was created. They never change. Times are Unix seconds, values are par. */
export type Terms = Beginning &
  Readonly<{
    duePar: bigint;
    /** Shortfall below `duePar` at which a payment still counts as full. */
    tolerancePar: bigint;
    /** Currencies that count towards the due value. Any other token is shown but does not count. */
    accepts: readonly Currency[];
    expiresAtS: number;
    inclusionGraceS: InclusionGrace;
    /** Time after expiry in which a session with too little can still be topped up. */
    topUpGraceS: number;
    /** Time after the last deadline (expiry and top-up grace) in which a late payment may still be accepted. */
    monitoringS: number;
    latePolicy: 'accept' | 'hold';
  }>;

/** `final`: confirmed and at or below the height that the chain calls final. `orphaned`: its block left the chain. */
export type ReceiptState = 'seen' | 'confirmed' | 'final' | 'orphaned';

/**
 * Phases of a transaction by its time: by expiry and its network's inclusion grace, by the end of the top-up grace,
 * within the monitoring window after it, or later. The first block that contained the transaction decides, and the
 * phase never changes.
 */
export const phases = ['in_time', 'top_up', 'late', 'too_late'] as const;
export type Phase = (typeof phases)[number];

/** The sum of a session's transfers on one network, in one token and of one phase, in base units by state. */
export type ReceiptSum = Readonly<{
  network: NetworkKey;
  currency: Currency;
  decimals: number;
  phase: Phase;
  seen: bigint;
  confirmed: bigint;
  final: bigint;
}>;

/** The state in which a sum counts a transfer. `none`: not counted, or no longer. */
export type Counted = 'none' | 'seen' | 'confirmed' | 'final';
export type Recount = Omit<ReceiptSum, 'seen' | 'confirmed' | 'final'> &
  Readonly<{ units: bigint; from: Counted; to: Counted }>;

/** The decisions about a session, with their times (Unix seconds). */
export type Life = Readonly<{
  status: SessionStatus;
  endedAtS: number | null;
  paidAtS: number | null;
  canceledAtS: number | null;
  /** The session is paid only because late money counts. */
  paidLate: boolean;
  /** An operator lets every coin count at par, even if the terms do not accept it. */
  takesAnyToken: boolean;
}>;

export const newLife: Life = {
  status: 'pending',
  endedAtS: null,
  paidAtS: null,
  canceledAtS: null,
  paidLate: false,
  takesAnyToken: false,
};

/**
 * The orthogonal facts behind a status. `seenPar` and `confirmedPar` are disjoint and include only money that counts.
 */
export type Standing = Readonly<{
  funded: 'none' | 'part' | 'full' | 'over';
  firm: 'none' | 'seen' | 'confirmed' | 'final';
  /** Money arrived in time, in any token. The session can no longer be canceled, and does not expire at once. */
  touched: boolean;
  late: boolean;
  seenPar: bigint;
  confirmedPar: bigint;
  /** Money that arrived after the deadline and does not count. */
  latePar: bigint;
}>;

export const newStanding: Standing = {
  funded: 'none',
  firm: 'none',
  touched: false,
  late: false,
  seenPar: 0n,
  confirmedPar: 0n,
  latePar: 0n,
};

/** The clock and the reading progress at a decision. */
export type Moment = Readonly<{
  nowS: number;
  /** Chain time up to which every network of the session has been read. */
  readThroughS: number;
  /** Time when an operator last rewound one of them, which makes it unread again; 0 if never. */
  rewoundAtS: number;
  /** Time after a deadline, or after a rewind, for which an unread network may hold a session open. */
  outageWaitS: number;
}>;

/** Divisor of the due value that gives the largest tolerance. A fixed amount must not swallow a small order. */
const TOLERANCE_PARTS = 20n;

/** Returns the tolerated shortfall of a session: the store's tolerance, but at most 5 % of the due value. */
export const toleratedPar = (duePar: bigint, storePar: bigint): bigint =>
  storePar * TOLERANCE_PARTS < duePar ? storePar : duePar / TOLERANCE_PARTS;

/** Returns the value that must be confirmed. A tolerance as large as the due value is ignored. */
export const enoughPar = (terms: Terms): bigint =>
  terms.tolerancePar < terms.duePar ? terms.duePar - terms.tolerancePar : terms.duePar;

/** Returns the phase of a transaction by its block; null for money older than the session, which is ignored. */
export function phaseOf(terms: Terms, came: Arrival): Phase | null {
  if (isOlder(terms, came)) return null;
  const { network, blockTimeS: cameS } = came;
  const inTimeEndS = terms.expiresAtS + graceOn(terms.inclusionGraceS, network);
  const graceEndS = Math.max(inTimeEndS, terms.expiresAtS + terms.topUpGraceS);
  if (cameS <= inTimeEndS) return 'in_time';
  if (cameS <= graceEndS) return 'top_up';
  return cameS <= graceEndS + terms.monitoringS ? 'late' : 'too_late';
}

/**
 * Returns the earlier phase. A transaction that a reorg moved to a later block was not late, and one that it moved to
 * an earlier block still pays the session.
 */
export function earlierPhase(one: Phase | null, other: Phase | null): Phase | null {
  if (one === null || other === null) return one ?? other;
  return phases.indexOf(one) <= phases.indexOf(other) ? one : other;
}

const amount = (sum: ReceiptSum, part: Counted): bigint => (part === 'none' ? 0n : sum[part]);

/** Returns a session's sums after transfers changed. Sums of zero are left out. */
export function recount(sums: readonly ReceiptSum[], changed: readonly Recount[]): ReceiptSum[] {
  const keyOf = ({ network, currency, decimals, phase }: Omit<ReceiptSum, 'seen' | 'confirmed' | 'final'>) =>
    `${network} ${currency} ${decimals} ${phase}`;
  const after = new Map(sums.map((sum) => [keyOf(sum), sum]));
  for (const { network, currency, decimals, phase, units, from, to } of changed) {
    const place = { network, currency, decimals, phase };
    const sum = after.get(keyOf(place)) ?? { ...place, seen: 0n, confirmed: 0n, final: 0n };
    const without = from === 'none' ? sum : { ...sum, [from]: amount(sum, from) - units };
    const next = to === 'none' ? without : { ...without, [to]: amount(without, to) + units };
    invariant(next.seen >= 0n && next.confirmed >= 0n && next.final >= 0n, 'a sum of transfers is not negative');
    after.set(keyOf(place), next);
  }
  return [...after.values()].filter(({ seen, confirmed, final }) => seen + confirmed + final > 0n);
}

/** Returns a session's receipts on one network, in any token and at any time. */
export function receivedOn(network: NetworkKey, sums: readonly ReceiptSum[]): Received {
  const own = sums.filter((sum) => sum.network === network);
  return { openPar: sumPar(own, ['seen', 'confirmed']), allPar: sumPar(own, everyState) };
}

export function standing(terms: Terms, life: Life, sums: readonly ReceiptSum[]): Standing {
  const { counted, late, touched } = sortOut(terms, life, sums);
  const seenPar = sumPar(counted, ['seen']);
  const confirmedPar = sumPar(counted, ['confirmed', 'final']);
  const finalPar = sumPar(counted, ['final']);
  const latePar = sumPar(late, everyState);
  const total = seenPar + confirmedPar;
  const enough = enoughPar(terms);
  return {
    funded: total === 0n ? 'none' : total < enough ? 'part' : total > terms.duePar ? 'over' : 'full',
    firm: total === 0n ? 'none' : finalPar >= enough ? 'final' : confirmedPar >= enough ? 'confirmed' : 'seen',
    touched,
    late: latePar > 0n,
    seenPar,
    confirmedPar,
    latePar,
  };
}

/**
 * Returns the amount that an event reports. `payment.late` reports late money, `payment.completed` confirmed money, the
 * others everything that counts. The currency is that of the larger part.
 * @returns null when there is none
 */
export function received(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
  type: PaymentEventType,
): Readonly<{ valuePar: bigint; currency: Currency }> | null {
  const { counted, late } = sortOut(terms, life, sums);
  const reported = type === 'payment.late' ? late : counted;
  const states: readonly Firmness[] = type === 'payment.completed' ? ['confirmed', 'final'] : everyState;
  const parts = currencies
    .map((currency) => ({
      currency,
      valuePar: sumPar(
        reported.filter((sum) => sum.currency === currency),
        states,
      ),
    }))
    .filter(({ valuePar }) => valuePar > 0n);
  const [first, ...others] = parts;
  if (!first) return null;
  const largest = others.reduce((best, part) => (part.valuePar > best.valuePar ? part : best), first);
  return { valuePar: sumPar(reported, states), currency: largest.currency };
}

type Firmness = Exclude<Counted, 'none'>;
const everyState: readonly Firmness[] = ['seen', 'confirmed', 'final'];

export const sumPar = (sums: readonly ReceiptSum[], states: readonly Firmness[]): bigint =>
  sums.reduce((total, sum) => states.reduce((part, state) => part + toPar(sum[state], sum.decimals), total), 0n);

/**
 * Sorts the money on the chain: `counted` counts towards the due value, `late` came after the deadline and does not
 * count. Money in time in another currency is in neither, but touches the session.
 */
export function sortOut(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
): { counted: ReceiptSum[]; late: ReceiptSum[]; touched: boolean } {
  const touched = life.canceledAtS === null && sums.some(({ phase }) => phase === 'in_time');
  const isTimely = ({ phase }: ReceiptSum) => touched && (phase === 'in_time' || phase === 'top_up');
  // Once paid, everything is part of the payment. After another end, late money counts only if the store accepts it.
  const isAccepted = ({ phase }: ReceiptSum) =>
    life.status === 'paid' || (life.endedAtS !== null && terms.latePolicy === 'accept' && phase !== 'too_late');
  const counts = (sum: ReceiptSum): boolean => isTimely(sum) || isAccepted(sum);
  return {
    counted: sums.filter((sum) => counts(sum) && (life.takesAnyToken || terms.accepts.includes(sum.currency))),
    late: sums.filter((sum) => !counts(sum)),
    touched,
  };
}

/**
 * Advances a session as far as its money and the clock allow.
 * Paid is final here. Money that a deep reorg takes away later shows in the standing and as `payment.reversed`.
 */
export function advance(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
  moment: Moment,
): { life: Life; standing: Standing } {
  let moved = life;
  for (let round = 0; ; round++) {
    invariant(round < 4, 'a session settles within three steps');
    const now = standing(terms, moved, sums);
    const next = step(terms, moved, sums, now, moment);
    if (next === moved) return { life: moved, standing: now };
    moved = next;
  }
}

function step(terms: Terms, life: Life, sums: readonly ReceiptSum[], now: Standing, moment: Moment): Life {
  if (life.status === 'paid') return life;
  const enough = enoughPar(terms);
  if (now.confirmedPar >= enough) {
    // Standing as if the session had never ended. If that is not enough, late money made the difference.
    const inTime = standing(terms, { ...life, status: 'pending', endedAtS: null }, sums);
    const paidLate = inTime.confirmedPar < enough;
    return { ...life, status: 'paid', paidAtS: moment.nowS, endedAtS: life.endedAtS ?? moment.nowS, paidLate };
  }
  const dueS = deadline(terms, life, now);
  if (dueS === null || !isOver(dueS, moment)) return life;
  return { ...life, status: now.touched ? 'failed' : 'expired', endedAtS: moment.nowS };
}

/**
 * Returns the last time at which a payer may send: the expiry, or the end of the top-up grace once money has arrived.
 * @returns null when the session has ended, or when enough is on its way. Such money keeps it open until it is
 * confirmed or orphaned
 */
export function payableUntilS(terms: Terms, life: Life, now: Standing): number | null {
  if (life.status !== 'pending' || now.seenPar + now.confirmedPar >= enoughPar(terms)) return null;
  return now.touched ? terms.expiresAtS + terms.topUpGraceS : terms.expiresAtS;
}

/**
 * Returns the time at which the clock alone ends the session. By then a payer can no longer send, and every sent
 * transaction had time to get into a block.
 * @returns null like `payableUntilS`
 */
export function deadline(terms: Terms, life: Life, now: Standing): number | null {
  const untilS = payableUntilS(terms, life, now);
  return untilS === null ? null : Math.max(untilS, terms.expiresAtS + longestGraceS(terms.inclusionGraceS));
}

/** Returns whether the clock and every network are past the deadline, or a network was unread for too long. */
function isOver(deadlineS: number, moment: Moment): boolean {
  if (moment.nowS <= deadlineS) return false;
  return moment.readThroughS > deadlineS || moment.nowS > Math.max(deadlineS, moment.rewoundAtS) + moment.outageWaitS;
}

/** The documented 400 codes of the cancel call. */
export type CancelRefusal = 'payment_in_progress' | 'session_expired' | 'session_not_cancelable';

/**
 * Applies the merchant's cancel after the money and the clock. A repeated cancel changes nothing.
 * @returns the life and standing to save, and the refusal if the session stays as it is
 */
export function cancel(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
  moment: Moment,
): { life: Life; standing: Standing; refusal: CancelRefusal | null } {
  const settled = advance(terms, life, sums, moment);
  const refuse = (refusal: CancelRefusal) => ({ ...settled, refusal });
  switch (settled.life.status) {
    case 'canceled':
      return { ...settled, refusal: null };
    case 'expired':
      return refuse('session_expired');
    case 'paid':
    case 'failed':
      return refuse('session_not_cancelable');
    case 'pending': {
      if (settled.standing.touched) return refuse('payment_in_progress');
      if (moment.nowS > terms.expiresAtS) return refuse('session_expired');
      const canceled: Life = { ...settled.life, status: 'canceled', endedAtS: moment.nowS, canceledAtS: moment.nowS };
      return { life: canceled, standing: standing(terms, canceled, sums), refusal: null };
    }
  }
}

type Snapshot = Readonly<{ life: Life; standing: Standing }>;

const ended: Partial<Record<SessionStatus, PaymentEventType>> = {
  paid: 'payment.completed',
  failed: 'payment.failed',
  expired: 'payment.expired',
  canceled: 'payment.cancelled',
};

/** Returns the events of the transition between two snapshots of a session, in the order in which to send them. */
export function changes(before: Snapshot, after: Snapshot): PaymentEventType[] {
  const events: PaymentEventType[] = [];
  const was = before.standing;
  const is = after.standing;
  if (is.touched && !was.touched) events.push('payment.detected');
  if (after.life.status === 'pending' && is.funded === 'part' && is.confirmedPar > was.confirmedPar) {
    events.push('payment.partially_paid');
  }
  const statusEvent = after.life.status === before.life.status ? undefined : ended[after.life.status];
  if (statusEvent) events.push(statusEvent);
  // Late money of a pending session is not reported yet, because the session's end decides whether it counts.
  const reportedLatePar = before.life.status === 'pending' ? 0n : was.latePar;
  if (is.latePar > reportedLatePar && after.life.status !== 'pending') events.push('payment.late');
  if (before.life.status === 'paid' && is.confirmedPar < was.confirmedPar) events.push('payment.reversed');
  return events;
}
