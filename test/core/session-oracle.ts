/**
 * An oracle for payment sessions: the rules of the interface, as a bookkeeper would apply them, independent of
 * `src/core/session.ts`. It keeps its own record from step to step, in whole units of money, without par values.
 */

export type OracleTerms = Readonly<{
  due: number;
  tolerance: number;
  accepts: readonly string[];
  expiresAtS: number;
  /** How long after expiry the next blocks still count as in time. */
  inclusionGraceS: number;
  graceS: number;
  monitoringS: number;
  latePolicy: 'accept' | 'hold';
  outageWaitS: number;
}>;

/** A payer's transaction as the chain shows it at some step; `cameS` is the time of the first block that held it. */
export type Standing = 'absent' | 'seen' | 'confirmed' | 'final' | 'orphaned';
type OraclePayment = Readonly<{ value: number; currency: string; cameS: number; state: Standing }>;

/** When it looks, how far the networks were read then, and whether the merchant calls cancel. */
type Look = Readonly<{ nowS: number; readThroughS: number; rewoundAtS: number; cancels: boolean }>;

export type Verdict = Readonly<{
  status: string;
  endedAtS: number | null;
  paidAtS: number | null;
  paidLate: boolean;
  seen: number;
  confirmed: number;
  late: number;
  touched: boolean;
  funded: string;
  firm: string;
  /** The cancel call's answer at this step; undefined when it was not called. */
  cancel: string | undefined;
  events: readonly string[];
}>;

const total = (payments: readonly OraclePayment[]): number => payments.reduce((sum, { value }) => sum + value, 0);

export class Bookkeeper {
  readonly #terms: OracleTerms;
  #status = 'pending';
  #endedAtS: number | null = null;
  #paidAtS: number | null = null;
  #canceled = false;
  #paidLate = false;
  #last = { touched: false, confirmed: 0, late: 0 };

  constructor(terms: OracleTerms) {
    this.#terms = terms;
  }

  /** One look at the chain and the clock, and perhaps a cancel call. */
  step(payments: readonly OraclePayment[], look: Look): Verdict {
    const { nowS, cancels } = look;
    const statusBefore = this.#status;
    this.#settle(payments, look);
    const cancel = cancels ? this.#cancel(payments, nowS) : undefined;
    const book = this.#sort(payments);
    const seen = total(book.credited.filter(({ state }) => state === 'seen'));
    const confirmed = total(book.credited) - seen;
    const final = total(book.credited.filter(({ state }) => state === 'final'));
    const late = total(book.late);
    const sum = seen + confirmed;
    const events = this.#events(statusBefore, { touched: book.touched, confirmed, late }, sum);
    this.#last = { touched: book.touched, confirmed, late };
    return {
      status: this.#status,
      endedAtS: this.#endedAtS,
      paidAtS: this.#paidAtS,
      paidLate: this.#paidLate,
      seen,
      confirmed,
      late,
      touched: book.touched,
      funded: sum === 0 ? 'none' : sum < this.#need() ? 'part' : sum <= this.#terms.due ? 'full' : 'over',
      firm: sum === 0 ? 'none' : final >= this.#need() ? 'final' : confirmed >= this.#need() ? 'confirmed' : 'seen',
      cancel,
      events,
    };
  }

  /** "paid when confirmed ≥ due − tolerance"; a tolerance that would make nothing enough does not apply. */
  #need(): number {
    const { due, tolerance } = this.#terms;
    return due - tolerance > 0 ? due - tolerance : due;
  }

  /** Sorts the money on the chain into what is credited and what is too late. */
  #sort(payments: readonly OraclePayment[]) {
    const { expiresAtS, inclusionGraceS, graceS, monitoringS, latePolicy, accepts } = this.#terms;
    const inTimeEndS = expiresAtS + inclusionGraceS;
    const topUpEndS = Math.max(expiresAtS + graceS, inTimeEndS);
    const there = payments.filter(({ state }) => state !== 'absent' && state !== 'orphaned');
    const beforeExpiry = this.#canceled ? [] : there.filter(({ cameS }) => cameS <= inTimeEndS);
    const topUps =
      beforeExpiry.length === 0 ? [] : there.filter(({ cameS }) => cameS > inTimeEndS && cameS <= topUpEndS);
    const inTime = [...beforeExpiry, ...topUps];
    const others = there.filter((payment) => !inTime.includes(payment));
    let forgiven: OraclePayment[] = [];
    if (this.#status === 'paid') forgiven = others;
    else if (this.#endedAtS !== null && latePolicy === 'accept') {
      forgiven = others.filter(({ cameS }) => cameS <= topUpEndS + monitoringS);
    }
    const right = ({ currency }: OraclePayment) => accepts.includes(currency);
    return {
      touched: beforeExpiry.length > 0,
      inTime: inTime.filter(right),
      credited: [...inTime, ...forgiven].filter(right),
      late: others.filter((payment) => !forgiven.includes(payment)),
    };
  }

  #settle(payments: readonly OraclePayment[], { nowS, readThroughS, rewoundAtS }: Look): void {
    if (this.#payIfCovered(payments, nowS) || this.#status !== 'pending') return;
    const { expiresAtS, inclusionGraceS, graceS, outageWaitS } = this.#terms;
    const { touched, credited } = this.#sort(payments);
    if (touched && total(credited) >= this.#need()) return;
    const inTimeEndS = expiresAtS + inclusionGraceS;
    const deadlineS = touched ? Math.max(expiresAtS + graceS, inTimeEndS) : inTimeEndS;
    const allWereRead = readThroughS > deadlineS;
    const waitedLongEnough = nowS > deadlineS + outageWaitS && nowS > rewoundAtS + outageWaitS;
    if (nowS <= deadlineS || (!allWereRead && !waitedLongEnough)) return;
    this.#status = touched ? 'failed' : 'expired';
    this.#endedAtS = nowS;
    // A store that accepts late money may find it here already.
    this.#payIfCovered(payments, nowS);
  }

  #payIfCovered(payments: readonly OraclePayment[], nowS: number): boolean {
    if (this.#status === 'paid') return false;
    const firm = ({ state }: OraclePayment) => state === 'confirmed' || state === 'final';
    const { credited, inTime } = this.#sort(payments);
    if (total(credited.filter(firm)) < this.#need()) return false;
    this.#paidLate = total(inTime.filter(firm)) < this.#need();
    this.#status = 'paid';
    this.#paidAtS = nowS;
    this.#endedAtS ??= nowS;
    return true;
  }

  #cancel(payments: readonly OraclePayment[], nowS: number): string {
    if (this.#status === 'canceled') return 'done';
    if (this.#status === 'expired') return 'session_expired';
    if (this.#status !== 'pending') return 'session_not_cancelable';
    if (this.#sort(payments).touched) return 'payment_in_progress';
    if (nowS > this.#terms.expiresAtS) return 'session_expired';
    this.#status = 'canceled';
    this.#canceled = true;
    this.#endedAtS = nowS;
    return 'done';
  }

  #events(statusBefore: string, is: { touched: boolean; confirmed: number; late: number }, sum: number): string[] {
    const was = this.#last;
    const events: string[] = [];
    if (is.touched && !was.touched) events.push('payment.detected');
    if (this.#status === 'pending' && sum > 0 && sum < this.#need() && is.confirmed > was.confirmed) {
      events.push('payment.partially_paid');
    }
    if (this.#status !== statusBefore) {
      const names: Record<string, string> = { paid: 'completed', canceled: 'cancelled' };
      events.push(`payment.${names[this.#status] ?? this.#status}`);
    }
    // Late money is reported once the session has ended; what came while it was pending, at its end.
    const lateReported = statusBefore === 'pending' ? 0 : was.late;
    if (this.#status !== 'pending' && is.late > lateReported) events.push('payment.late');
    if (statusBefore === 'paid' && is.confirmed < was.confirmed) events.push('payment.reversed');
    return events;
  }
}
