/**
 * What the chain's facts mean for a payment session.
 *
 * `standing` folds receipts into orthogonal facts (how much is funded, how firm it is, what came too late). `advance` moves the
 * documented status from that standing and the clock. `changes` names the events that a move emits. All three are pure, so a
 * reorg needs no undo: the receipts change and the same functions run again.
 * @module
 */
import type { PaymentEventType } from './event.ts';
import { invariant } from './fault.ts';
import type { Currency } from './transfer.ts';

/** The five documented statuses. */
export type SessionStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'canceled';

/** What was promised when the session was created; never changes. Times are Unix seconds, values are par (18 decimals). */
export type Terms = Readonly<{
  duePar: bigint;
  /** How far below `duePar` a payment may stay and still be full. */
  tolerancePar: bigint;
  /** Currencies that count towards the due value; any other token is seen and shown, and counts nothing. */
  accepts: readonly Currency[];
  createdAtS: number;
  expiresAtS: number;
  /** After expiry with too little paid, how long a top-up still counts. */
  topUpGraceS: number;
  /** After the end, how long a late payment may still be accepted. */
  monitoringS: number;
  latePolicy: 'accept' | 'hold';
}>;

/** `final`: confirmed and at or below the height the chain itself calls final. `orphaned`: its block left the chain. */
export type ReceiptState = 'seen' | 'confirmed' | 'final' | 'orphaned';

/** One transfer to the session's address, valued at par. `blockTimeS` is the time of the block it stands in. */
export type Receipt = Readonly<{
  network: string;
  tx: string;
  currency: Currency;
  valuePar: bigint;
  blockTimeS: number;
  state: ReceiptState;
}>;

/** The session's own history: what was decided, and when (Unix seconds). */
export type Life = Readonly<{
  status: SessionStatus;
  endedAtS: number | null;
  paidAtS: number | null;
  canceledAtS: number | null;
  /** True when the session was paid only by counting money that came too late. */
  paidLate: boolean;
}>;

export const newLife: Life = { status: 'pending', endedAtS: null, paidAtS: null, canceledAtS: null, paidLate: false };

/** The orthogonal facts behind a status. `seenPar` and `confirmedPar` are disjoint and count only money that counts. */
export type Standing = Readonly<{
  funded: 'none' | 'part' | 'full' | 'over';
  firm: 'none' | 'seen' | 'confirmed' | 'final';
  /** Money in time stands on the chain, in whatever token: the session may no longer be canceled or expire at once. */
  touched: boolean;
  late: boolean;
  seenPar: bigint;
  confirmedPar: bigint;
  /** Money that arrived after the deadline and is not counted. */
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

/** The clock of a decision. */
export type Moment = Readonly<{
  nowS: number;
  /** Every network the session offers has been read up to this chain time. */
  readThroughS: number;
  /** How long after a deadline an unread network may hold a session open. */
  outageWaitS: number;
}>;

/** So far may our clock and a chain's lie apart; the API, whose signatures carry the time, would have stopped long before. */
const CLOCK_SKEW_S_MAX = 600;

/**
 * True for money that came before the session was there. Somebody else was given its address, by a database that was since lost or
 * put back to an earlier state: it pays for another order.
 */
export const isOlder = (terms: Pick<Terms, 'createdAtS'>, blockTimeS: number): boolean =>
  blockTimeS < terms.createdAtS - CLOCK_SKEW_S_MAX;

/** What must be confirmed before the session is paid. A tolerance as large as the due value is none: nothing is sold for nothing. */
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
 * The money that an event tells of: what came too late for `payment.late`, what is confirmed for `payment.completed`, all that
 * counts for the others. The currency is that of the larger part.
 * @returns null when there is none
 */
export function received(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
  type: PaymentEventType,
): Readonly<{ valuePar: bigint; currency: Currency }> | null {
  const { counted, late } = sortOut(terms, life, receipts);
  const told =
    type === 'payment.late'
      ? late
      : type === 'payment.completed'
        ? counted.filter(({ state }) => state !== 'seen')
        : counted;
  const parts = new Map<Currency, bigint>();
  for (const { currency, valuePar } of told) parts.set(currency, (parts.get(currency) ?? 0n) + valuePar);
  const largest = [...parts].reduce<[Currency, bigint] | null>(
    (best, part) => (best && best[1] >= part[1] ? best : part),
    null,
  );
  return largest && { valuePar: sumPar(told), currency: largest[0] };
}

const sumPar = (receipts: readonly Receipt[]): bigint => receipts.reduce((sum, { valuePar }) => sum + valuePar, 0n);

/**
 * Sorts what stands on the chain: `counted` counts towards the due value, `late` came after the deadline and does not. Money in time
 * in a currency that is not accepted is in neither, but it touches the session as well. Money older than the session is in none.
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
  // Once paid, everything is part of the payment. After another end, late money counts only where the store accepts it.
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
 * SessionTransitions a session as far as its receipts and the clock carry it.
 * Paid is final here: money that a deep reorg takes away afterwards shows in the standing and as `payment.reversed`.
 */
export function advance(
  terms: Terms,
  life: Life,
  receipts: readonly Receipt[],
  moment: Moment,
): { life: Life; standing: Standing } {
  let moved = life;
  for (let round = 0; ; round++) {
    invariant(round < 4, 'a session settles within three moves');
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
    // What would have counted had the session never ended: if that is not enough, late money made the difference.
    const inTime = standing(terms, { ...life, status: 'pending', endedAtS: null }, receipts);
    const paidLate = inTime.confirmedPar < enough;
    return { ...life, status: 'paid', paidAtS: moment.nowS, endedAtS: life.endedAtS ?? moment.nowS, paidLate };
  }
  const dueS = deadline(terms, life, now);
  if (dueS === null || !isOver(dueS, moment)) return life;
  return { ...life, status: now.touched ? 'failed' : 'expired', endedAtS: moment.nowS };
}

/**
 * When the clock alone ends the session, as things stand: at expiry, or at the end of the top-up grace once it is touched.
 * @returns null when it has ended, or when enough is on its way: that holds it open until it confirms or is orphaned.
 */
export function deadline(terms: Terms, life: Life, now: Standing): number | null {
  if (life.status !== 'pending' || now.seenPar + now.confirmedPar >= enoughPar(terms)) return null;
  return now.touched ? terms.expiresAtS + terms.topUpGraceS : terms.expiresAtS;
}

/** A deadline is over when the clock has passed it and every network has been read past it, or reading has been out for too long. */
function isOver(deadlineS: number, moment: Moment): boolean {
  if (moment.nowS <= deadlineS) return false;
  return moment.readThroughS > deadlineS || moment.nowS > deadlineS + moment.outageWaitS;
}

/** Why a session cannot be canceled: the documented 400 codes of the cancel call. */
export type CancelRefusal = 'payment_in_progress' | 'session_expired' | 'session_not_cancelable';

/**
 * The merchant's cancel, after the clock and the receipts have had their say. Canceling twice is the same as once.
 * @returns the life and standing to save, and the refusal when the session stays as it is.
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

/** The events that lead from one snapshot of a session to a later one, in the order in which they are to be sent. */
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
  // While a session is pending its late money is not told of: the end decides whether it counts.
  const toldLatePar = before.life.status === 'pending' ? 0n : was.latePar;
  if (is.latePar > toldLatePar && after.life.status !== 'pending') events.push('payment.late');
  if (before.life.status === 'paid' && is.confirmedPar < was.confirmedPar) events.push('payment.reversed');
  return events;
}
