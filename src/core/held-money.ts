/**
 * Held money: confirmed money that counts for nothing until an operator decides about it. It is derived from a
 * session's sums like its status, so a reorg or a top-up changes it without any undo.
 *
 * It always belongs to its session, and the ledger books it as received when it is confirmed. Accepting it therefore
 * moves no money. Once the session is paid, it can be refunded. Money that is being returned is no longer held. If the
 * return fails, it is held again.
 */
import type { ExtendedPaymentEventType } from './event.ts';
import { invariant } from './fault.ts';
import { minorToPar, parToMinorFloor, toPar } from './money.ts';
import { minorToUnits } from './refund.ts';
import {
  advance,
  enoughPar,
  type Life,
  type Moment,
  phases,
  type ReceiptSum,
  type Standing,
  sortOut,
  standing,
  sumPar,
  type Terms,
} from './session.ts';
import { type Currency, currencies, type NetworkKey } from './transfer.ts';

/**
 * - `late`: arrived after the deadline, or after a cancel.
 * - `short`: received by a session that ended with too little.
 * - `surplus`: received by a paid session above the amount due.
 * - `wrong_token`: in a coin that the session does not take.
 */
export const heldKinds = ['late', 'short', 'surplus', 'wrong_token'] as const;
export type HeldKind = (typeof heldKinds)[number];

/** An amount of held money. `currency` is that of the larger part. */
type HeldAmount = Readonly<{ kind: HeldKind; valuePar: bigint; currency: Currency }>;

/** Least amount that is held. Smaller ones cannot be refunded. */
const HELD_PAR_MIN = minorToPar(1n);

const firm = ['confirmed', 'final'] as const;

/** Returns a session's held money, at most one amount of each kind. */
export const heldMoney = (terms: Terms, life: Life, sums: readonly ReceiptSum[]): HeldAmount[] =>
  heldSums(terms, life, sums).map(({ kind, valuePar, of }) => ({ kind, valuePar, currency: largest(of) }));

type HeldSums = Readonly<{ kind: HeldKind; valuePar: bigint; of: readonly ReceiptSum[] }>;

/** Returns a session's held money, with the sums behind it. */
function heldSums(terms: Terms, life: Life, sums: readonly ReceiptSum[]): HeldSums[] {
  const { counted, late } = sortOut(terms, life, sums);
  const takes = ({ currency }: ReceiptSum) => life.takesAnyToken || terms.accepts.includes(currency);
  const isPaid = life.status === 'paid';
  const hasEnded = life.status !== 'pending';
  const over = sumPar(counted, firm) - terms.duePar;
  const amounts: readonly [HeldKind, boolean, readonly ReceiptSum[], bigint][] = [
    ['late', hasEnded && !isPaid, late.filter(takes), sumPar(late.filter(takes), firm)],
    ['short', hasEnded && !isPaid, counted, sumPar(counted, firm)],
    ['surplus', isPaid, counted, over],
    [
      'wrong_token',
      true,
      sums.filter((sum) => !takes(sum)),
      sumPar(
        sums.filter((sum) => !takes(sum)),
        firm,
      ),
    ],
  ];
  return amounts.flatMap(([kind, applies, of, valuePar]) =>
    applies && valuePar >= HELD_PAR_MIN ? { kind, valuePar, of } : [],
  );
}

function largest(sums: readonly ReceiptSum[]): Currency {
  const parOf = (currency: Currency) =>
    sumPar(
      sums.filter((sum) => sum.currency === currency),
      firm,
    );
  return currencies.reduce((best, one) => (parOf(one) > parOf(best) ? one : best));
}

/** A part of held money that one transfer can return: whole cents in one token on one network. */
export type HeldPart = Readonly<{ network: NetworkKey; currency: Currency; amountMinor: bigint; units: bigint }>;

/** Returns the parts of a session's held money of a kind, each at most `openPar`. */
export function heldParts(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
  kind: HeldKind,
  openPar: bigint,
): HeldPart[] {
  const held = heldSums(terms, life, sums).find((one) => one.kind === kind);
  if (!held) return [];
  const partOf = ({ network, currency, decimals }: ReceiptSum) => `${network} ${currency} ${decimals}`;
  return [...new Set(held.of.map(partOf))].flatMap((place) => {
    const own = held.of.filter((sum) => partOf(sum) === place);
    const [first] = own;
    const amountMinor = parToMinorFloor(smaller(sumPar(own, firm), smaller(openPar, held.valuePar)));
    if (!first || amountMinor === 0n) return [];
    const { network, currency, decimals } = first;
    return [{ network, currency, amountMinor, units: minorToUnits(amountMinor, decimals) }];
  });
}

/** Held money of a session that is being returned, or was. */
export type Returned = Readonly<{ kind: HeldKind }> & Omit<HeldPart, 'units'>;

/**
 * Returns a session's sums without the returned money. A sum of zero stays, because its time still decides how other
 * money counts.
 */
export const withoutReturned = (sums: readonly ReceiptSum[], returned: readonly Returned[]): readonly ReceiptSum[] =>
  returned.reduce(withoutOne, sums);

function withoutOne(sums: readonly ReceiptSum[], { kind, network, currency, amountMinor }: Returned) {
  let leftPar = minorToPar(amountMinor);
  // Short money arrived first. All other held money arrived after the money that counts.
  const order = kind === 'short' ? phases : phases.toReversed();
  const after = [...sums];
  for (const phase of order) {
    for (const [at, sum] of after.entries()) {
      if (sum.network !== network || sum.currency !== currency || sum.phase !== phase) continue;
      const taken = (amount: bigint): bigint => smaller(amount, leftPar / toPar(1n, sum.decimals));
      const final = taken(sum.final);
      leftPar -= toPar(final, sum.decimals);
      const confirmed = taken(sum.confirmed);
      leftPar -= toPar(confirmed, sum.decimals);
      after[at] = { ...sum, final: sum.final - final, confirmed: sum.confirmed - confirmed };
    }
  }
  return after;
}

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other);

/** `settled`: an operator has decided. `gone`: it counts by now, is returned, or a reorg took it. */
export type HeldState = 'open' | 'settled' | 'gone';
/**
 * One kind of a session's held money: the amount that is there now, and the amount that operators have decided about.
 */
export type HeldRecord = Readonly<{ state: HeldState; valuePar: bigint; settledPar: bigint }>;

/** Returns the amount that still needs a decision. */
export const openPar = ({ valuePar, settledPar }: HeldRecord): bigint =>
  valuePar > settledPar ? valuePar - settledPar : 0n;

/** Returns the record after the amount changed, or null if there was none and is none. */
export function nextRecord(record: HeldRecord | null, valuePar: bigint): HeldRecord | null {
  if (!record) return valuePar === 0n ? null : { state: 'open', valuePar, settledPar: 0n };
  const next = { ...record, valuePar };
  if (openPar(next) >= HELD_PAR_MIN) return { ...next, state: 'open' };
  return { ...next, state: record.settledPar > 0n ? 'settled' : 'gone' };
}

export const heldAlarmCode = (kind: HeldKind): string => `money_${kind}`;

/** The event that reports new held money; null if another event does, such as `payment.late`. */
export const heldEvents: Readonly<Record<HeldKind, ExtendedPaymentEventType | null>> = {
  late: null,
  short: null,
  surplus: 'payment.overpaid',
  wrong_token: 'payment.wrong_token',
};

/**
 * - `paid`: the session is paid.
 * - `credited`: the money counts, and the session waits for the rest.
 * - `acknowledged`: only the record changes.
 */
export type AcceptEffect = 'paid' | 'credited' | 'acknowledged';

/**
 * Accepts held money. A session that has ended unpaid becomes paid with everything that it received, even if that is
 * little. A pending one counts the money and stays open.
 * @param isAtPar whether one coin stands for the other, as in a price in one of them. A price in another currency
 * leaves out only a coin that has lost its peg
 */
export function accept(
  terms: Terms,
  life: Life,
  sums: readonly ReceiptSum[],
  kind: HeldKind,
  isAtPar: boolean,
  moment: Moment,
): Readonly<{ life: Life; standing: Standing; effect: AcceptEffect }> {
  if (life.status === 'paid' || (kind === 'wrong_token' && !isAtPar)) {
    return { life, standing: standing(terms, life, sums), effect: 'acknowledged' };
  }
  invariant(kind !== 'surplus', 'only a paid session has a surplus');
  const crediting: Life = kind === 'wrong_token' ? { ...life, takesAnyToken: true } : life;
  if (life.status === 'pending') {
    const after = advance(terms, crediting, sums, moment);
    return { ...after, effect: after.life.status === 'paid' ? 'paid' : 'credited' };
  }
  const paid: Life = { ...crediting, status: 'paid', paidAtS: moment.nowS };
  const now = standing(terms, paid, sums);
  // The standing as if the session had never ended. Money beyond it is late.
  const inTime = standing(terms, { ...crediting, status: 'pending', endedAtS: null }, sums);
  const paidLate = inTime.confirmedPar < enoughPar(terms) && inTime.confirmedPar < now.confirmedPar;
  return { life: { ...paid, paidLate }, standing: now, effect: 'paid' };
}
