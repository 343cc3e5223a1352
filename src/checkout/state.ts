/**
 * What a payer is to be told about a session, as a pure function of the session and the clock.
 * @module
 */
import { deadline } from '../core/session.ts';
import type { Payment, PaymentOption, Session } from '../database/database.ts';
import { optionName } from '../payments/option.ts';

/**
 * - `open`: nothing has come, and there is time to pay.
 * - `checking`: the time is up, and the chains are not yet read to that point.
 * - `wrong_token`: only money has come that this session cannot be paid with.
 * - `late`: ended without payment, and money came afterwards.
 * The others are as the session's status has them.
 */
export type StateKind =
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
  /** What is still due, and what came beyond it, at par. */
  leftPar: bigint;
  overPar: bigint;
  /** When the clock ends it (Unix seconds); null while the clock does not matter. */
  deadlineS: number | null;
  /** Money in a token that this session cannot be paid with. */
  foreign: readonly Payment[];
  /** A transfer was seen, and a reorg took it away. */
  isUndone: boolean;
}>;

/** @param nowS Unix seconds of the server, never of the payer's device */
export function pageState(session: Session, nowS: number): PageState {
  const { terms, life, standing, payments } = session;
  const countedPar = standing.seenPar + standing.confirmedPar;
  const deadlineS = deadline(terms, life, standing);
  const kind = kindOf(session, deadlineS !== null && nowS > deadlineS);
  return {
    kind,
    isPayable: kind === 'open' || kind === 'wrong_token' || kind === 'underpaid',
    hasEnded: life.status !== 'pending',
    leftPar: countedPar < terms.duePar ? terms.duePar - countedPar : 0n,
    overPar: standing.funded === 'over' ? countedPar - terms.duePar : 0n,
    deadlineS,
    foreign: payments.filter(({ currency, state }) => state !== 'orphaned' && !terms.accepts.includes(currency)),
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

/** The way to pay that a link names, as `network-CURRENCY`; null when the session does not offer it. */
export const findOption = (session: Session, name: string | null): PaymentOption | null =>
  session.options.find((option) => optionName(option) === name) ?? null;
