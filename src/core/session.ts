/**
 * What the chain's facts mean for a payment session.
 *
 * `standing` folds receipts into orthogonal facts (how much is funded, how firm it is, what came too late). `advance`
 * derives the documented status from that standing and the clock. `changes` names the events of a transition. All three
 * are pure, so a reorg needs no undo: the receipts change and the same functions run again.
 * @module
 */
import type { PaymentEventType, SessionStatus } from './event.ts';
import { invariant } from './fault.ts';
import type { Currency } from './transfer.ts';

/** What was promised when the session was created. Never changes. Times are Unix seconds, values are par. */
export type Terms = Readonly<{
  duePar: bigint;
  /** How far below `duePar` a payment may be and still count as full. */
  tolerancePar: bigint;
  /** Currencies that count towards the due value; any other token is shown but does not count. */
  accepts: readonly Currency[];
  createdAtS: number;
  expiresAtS: number;
  /** After expiry with too little paid, how long a top-up still counts. */
  topUpGraceS: number;
  /** After the end, how long a late payment may still be accepted. */
  monitoringS: number;
  latePolicy: 'accept' | 'hold';
}>;

/** `final`: confirmed and at or below the height that the chain calls final. `orphaned`: its block left the chain. */
export type ReceiptState = 'seen' | 'confirmed' | 'final' | 'orphaned';

/** One transfer to the session's address, valued at par. `blockTimeS` is the time of its block. */
export type Receipt = Readonly<{
  network: string;
  tx: string;
  currency: Currency;
  valuePar: bigint;
  blockTimeS: number;
  state: ReceiptState;
}>;

/** The session's own history: what was decided and when (Unix seconds). */
export type Life = Readonly<{
  status: SessionStatus;
  endedAtS: number | null;
  paidAtS: number | null;
  canceledAtS: number | null;
  /** True when the session is paid only because late money counts. */
  paidLate: boolean;
}>;

export const newLife: Life = { status: 'pending', endedAtS: null, paidAtS: null, canceledAtS: null, paidLate: false };

/** The orthogonal facts behind a status. `seenPar` and `confirmedPar` are disjoint and include only what counts. */
export type Standing = Readonly<{
  funded: 'none' | 'part' | 'full' | 'over';
  firm: 'none' | 'seen' | 'confirmed' | 'final';
  /** Money arrived in time, in any token: the session can no longer be canceled, and does not expire at once. */
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

/** The time of a decision. */
export type Moment = Readonly<{
  nowS: number;
  /** Every network the session offers has been read up to this chain time. */
  readThroughS: number;
  /** How long after a deadline an unread network may hold a session open. */
  outageWaitS: number;
}>;

/** Largest clock skew tolerated between us and a chain. API signatures fail at 300 s, so in practice it is smaller. */
const CLOCK_SKEW_S_MAX = 600;

/**
 * Returns true for money that came before the session was created. It pays another order: a database that was lost or
 * restored from a backup since then had given the address to somebody else.
 */
export const isOlder = (terms: Pick<Terms, 'createdAtS'>, blockTimeS: number): boolean =>
  blockTimeS < terms.createdAtS - CLOCK_SKEW_S_MAX;

/** Returns what must be confirmed. A tolerance as large as the due value is ignored: nothing is given away. */
const enoughPar = (terms: Terms): bigint =>
  terms.tolerancePar < terms.duePar ? terms.duePar - terms.tolerancePar : terms.duePar;

/**
 * Folds the receipts of a session.
 * A transaction that a reorg moved to a later block keeps the time of its first block: the payer was not late.
 */
export function standing(terms: Terms, life: Life, receipts: readonly Receipt[]): Standing {
  const { counted, late, touched } = sortOut(terms, life, receipts);
  const seenPar = sumPar(counted.filter(({ state }) => state === 'seen'));
  const confirmedPar = sumPar(counted.filter(({ state }) => state !== 'seen'));
  const finalPar = sumPar(counted.filter(({ state }) => state === 'final'));
  const latePar = sumPar(late);
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
 * Returns the money that an event reports: what came too late for `payment.late`, what is confirmed for
 * `payment.completed`, all that counts for the others. The currency is that of the larger part.
 * @returns null when there is none
 */
export function received(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
  type: PaymentEventType,
): Readonly<{ valuePar: bigint; currency: Currency }> | null {
  const { counted, late } = sortOut(terms, life, receipts);
  const reported =
    type === 'payment.late'
      ? late
      : type === 'payment.completed'
        ? counted.filter(({ state }) => state !== 'seen')
        : counted;
  const parts = new Map<Currency, bigint>();
  for (const { currency, valuePar } of reported) parts.set(currency, (parts.get(currency) ?? 0n) + valuePar);
  const largest = [...parts].reduce<[Currency, bigint] | null>(
    (best, part) => (best && best[1] >= part[1] ? best : part),
    null,
  );
  return largest && { valuePar: sumPar(reported), currency: largest[0] };
}

const sumPar = (receipts: readonly Receipt[]): bigint => receipts.reduce((sum, { valuePar }) => sum + valuePar, 0n);

/**
 * Sorts the transfers on the chain: `counted` counts towards the due value, `late` came after the deadline and does not
 * count. Money in time in another currency is in neither, but touches the session. Money older than the session is
 * ignored.
 */
function sortOut(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
): { counted: Receipt[]; late: Receipt[]; touched: boolean } {
  const firstTimes = new Map<string, number>();
  const place = ({ network, tx }: Receipt) => `${network}/${tx}`;
  for (const receipt of receipts) {
    firstTimes.set(place(receipt), Math.min(receipt.blockTimeS, firstTimes.get(place(receipt)) ?? Infinity));
  }
  const cameS = (receipt: Receipt): number => firstTimes.get(place(receipt)) ?? receipt.blockTimeS;
  const valid = receipts.filter((receipt) => receipt.state !== 'orphaned' && !isOlder(terms, cameS(receipt)));
  const touched = life.canceledAtS === null && valid.some((receipt) => cameS(receipt) <= terms.expiresAtS);
  const isTimely = (receipt: Receipt): boolean => touched && cameS(receipt) <= terms.expiresAtS + terms.topUpGraceS;
  // Once paid, everything is part of the payment. After another end, late money counts only if the store accepts it.
  const lateUntilS =
    life.status === 'paid'
      ? Infinity
      : life.endedAtS !== null && terms.latePolicy === 'accept'
        ? life.endedAtS + terms.monitoringS
        : -Infinity;
  const counts = (receipt: Receipt): boolean => isTimely(receipt) || cameS(receipt) <= lateUntilS;
  return {
    counted: valid.filter((receipt) => counts(receipt) && terms.accepts.includes(receipt.currency)),
    late: valid.filter((receipt) => !counts(receipt)),
    touched,
  };
}

/**
 * Advances a session as far as its receipts and the clock allow.
 * Paid is final here: money that a deep reorg takes away later shows in the standing and as `payment.reversed`.
 */
export function advance(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
  moment: Moment,
): { life: Life; standing: Standing } {
  let moved = life;
  for (let round = 0; ; round++) {
    invariant(round < 4, 'a session settles within three steps');
    const now = standing(terms, moved, receipts);
    const next = step(terms, moved, receipts, now, moment);
    if (next === moved) return { life: moved, standing: now };
    moved = next;
  }
}

function step(terms: Terms, life: Life, receipts: readonly Receipt[], now: Standing, moment: Moment): Life {
  if (life.status === 'paid') return life;
  const enough = enoughPar(terms);
  if (now.confirmedPar >= enough) {
    // What would count had the session never ended: if that is not enough, late money made the difference.
    const inTime = standing(terms, { ...life, status: 'pending', endedAtS: null }, receipts);
    const paidLate = inTime.confirmedPar < enough;
    return { ...life, status: 'paid', paidAtS: moment.nowS, endedAtS: life.endedAtS ?? moment.nowS, paidLate };
  }
  const dueS = deadline(terms, life, now);
  if (dueS === null || !isOver(dueS, moment)) return life;
  return { ...life, status: now.touched ? 'failed' : 'expired', endedAtS: moment.nowS };
}

/**
 * Returns when the clock alone ends the session: at expiry, or at the end of the top-up grace once it is touched.
 * @returns null when it has ended, or when enough is on its way: then it stays open until that confirms or is orphaned
 */
export function deadline(terms: Terms, life: Life, now: Standing): number | null {
  if (life.status !== 'pending' || now.seenPar + now.confirmedPar >= enoughPar(terms)) return null;
  return now.touched ? terms.expiresAtS + terms.topUpGraceS : terms.expiresAtS;
}

/** Returns true when the clock and every network are past the deadline, or when a network was unread for too long. */
function isOver(deadlineS: number, moment: Moment): boolean {
  if (moment.nowS <= deadlineS) return false;
  return moment.readThroughS > deadlineS || moment.nowS > deadlineS + moment.outageWaitS;
}

/** Why a session cannot be canceled: the documented 400 codes of the cancel call. */
export type CancelRefusal = 'payment_in_progress' | 'session_expired' | 'session_not_cancelable';

/**
 * Applies the merchant's cancel after the receipts and the clock. Canceling twice is the same as once.
 * @returns the life and standing to save, and the refusal if the session stays as it is
 */
export function cancel(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
  moment: Moment,
): { life: Life; standing: Standing; refusal: CancelRefusal | null } {
  const settled = advance(terms, life, receipts, moment);
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
      return { life: canceled, standing: standing(terms, canceled, receipts), refusal: null };
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
  // Late money of a pending session is not reported yet: whether it counts is decided when the session ends.
  const reportedLatePar = before.life.status === 'pending' ? 0n : was.latePar;
  if (is.latePar > reportedLatePar && after.life.status !== 'pending') events.push('payment.late');
  if (before.life.status === 'paid' && is.confirmedPar < was.confirmedPar) events.push('payment.reversed');
  return events;
}
