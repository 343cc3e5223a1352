/**
 * The page's view of a session, as a pure function of the session and the clock.
 */
import { payableUntilS } from '../core/session.ts';
import type { PaymentOption } from '../database/column-values.ts';
import type { Payment, Session } from '../database/session.ts';
import { optionName } from '../payments/option.ts';

/**
 * - `open`: nothing was received, and there is time to pay.
 * - `checking`: the time is up, and the chains have not been read to that point yet.
 * - `wrong_token`: only tokens were received that do not pay this session.
 * - `late`: ended without payment, and money arrived afterwards.
 * The others correspond to the session's status.
 */
type StateKind =
  | 'open'
  | 'checking'
  | 'wrong_token'
  | 'underpaid'
  | 'seen'
  | 'paid'
  | 'expired'
  | 'late'
  | 'canceled'
  | 'failed';

export type PageState = Readonly<{
  kind: StateKind;
  /** True while money can still be sent. */
  isPayable: boolean;
  /** True once the session has ended; only late money can change what is shown. */
  hasEnded: boolean;
  /** The amount still due, and the amount received beyond it, at par. */
  leftPar: bigint;
  overPar: bigint;
  /** Until when the payer may send (Unix seconds); null once the session has ended or enough was sent. */
  deadlineS: number | null;
  /** Payments in a token that does not pay this session. */
  foreign: readonly Payment[];
  /** True if a transfer was seen and a reorg removed it. */
  isUndone: boolean;
}>;

/** @param nowS Unix seconds of the server, never of the payer's device */
export function pageState(session: Session, nowS: number): PageState {
  const { terms, life, standing, payments } = session;
  const countedPar = standing.seenPar + standing.confirmedPar;
  const deadlineS = payableUntilS(terms, life, standing);
  const kind = kindOf(session, deadlineS !== null && nowS > deadlineS);
  return {
    kind,
    isPayable: kind === 'open' || kind === 'wrong_token' || kind === 'underpaid',
    hasEnded: life.status !== 'pending',
    leftPar: countedPar < terms.duePar ? terms.duePar - countedPar : 0n,
    overPar: standing.funded === 'over' ? countedPar - terms.duePar : 0n,
    deadlineS,
    foreign: life.takesAnyToken
      ? []
      : payments.filter(({ currency, state }) => state !== 'orphaned' && !terms.accepts.includes(currency)),
    isUndone: payments.some(({ state }) => state === 'orphaned') && standing.funded === 'none',
  };
}

function kindOf({ life, standing }: Session, isTimeUp: boolean): StateKind {
  switch (life.status) {
    case 'paid':
      return 'paid';
    case 'canceled':
    case 'expired':
    case 'failed':
      return standing.late ? 'late' : life.status;
    case 'pending':
      if (isTimeUp) return 'checking';
      if (standing.funded === 'full' || standing.funded === 'over') return 'seen';
      if (standing.funded === 'part') return 'underpaid';
      return standing.touched ? 'wrong_token' : 'open';
  }
}

/** Returns the way to pay with the name `network-CURRENCY`, or null if the session does not offer it. */
export const findOption = (session: Session, name: string | null): PaymentOption | null =>
  session.options.find((option) => optionName(option) === name) ?? null;
