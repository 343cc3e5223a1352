/**
 * A session's row, and its parts as core sees them.
 * @module
 */
import { deadline, type Life, type ReceiptSum, type Standing, type Terms } from '../../core/session.ts';
import { toSeconds } from '../../lib/clock.ts';
import type { Payment, Session } from '../database.ts';
import type { sessions } from './tables.ts';

export type SessionRow = typeof sessions.$inferSelect;

/** The columns that change during a session's life. */
export const stateColumnNames = [
  'status',
  'endedAtS',
  'paidAtS',
  'canceledAtS',
  'paidLate',
  'takesAnyToken',
  'funded',
  'firm',
  'touched',
  'late',
  'seenPar',
  'confirmedPar',
  'latePar',
  'deadlineS',
  'sums',
] as const satisfies readonly (keyof SessionRow)[];

type SessionState = Pick<SessionRow, (typeof stateColumnNames)[number]>;

export const termsOf = (row: SessionRow): Terms => ({
  duePar: row.duePar,
  tolerancePar: row.tolerancePar,
  accepts: row.accepts,
  createdAtS: toSeconds(row.createdAtMs),
  beforeNumbers: row.beforeNumbers,
  expiresAtS: row.expiresAtS,
  inclusionGraceS: row.inclusionGraceS,
  topUpGraceS: row.topUpGraceS,
  monitoringS: row.monitoringS,
  latePolicy: row.latePolicy,
});

export const lifeOf = (state: SessionState): Life => ({
  status: state.status,
  endedAtS: state.endedAtS,
  paidAtS: state.paidAtS,
  canceledAtS: state.canceledAtS,
  paidLate: state.paidLate,
  takesAnyToken: state.takesAnyToken,
});

export const standingOf = (state: SessionState): Standing => ({
  funded: state.funded,
  firm: state.firm,
  touched: state.touched,
  late: state.late,
  seenPar: state.seenPar,
  confirmedPar: state.confirmedPar,
  latePar: state.latePar,
});

/** Returns the state columns, including the deadline that `settleDue` looks for. */
export const stateOf = (terms: Terms, life: Life, standing: Standing, sums: readonly ReceiptSum[]): SessionState => ({
  ...life,
  ...standing,
  deadlineS: deadline(terms, life, standing),
  sums,
});

/** Returns what is due, in the minor unit of the coin that the session settles in. */
export const dueOf = ({ targetMinor, targetCurrency, amountMinor, accepts }: SessionRow) => ({
  amountMinor: targetMinor ?? amountMinor,
  currency: targetCurrency ?? accepts[0] ?? 'USDT',
});

/** Returns the session as the port shows it. */
export function toSession(
  row: SessionRow,
  addresses: Readonly<Record<string, string>>,
  payments: readonly Payment[],
): Session {
  const { rate, targetCurrency, targetMinor } = row;
  return {
    id: row.id,
    storeId: row.storeId,
    mode: row.mode,
    request: {
      orderId: row.orderId,
      amountMinor: row.amountMinor,
      currency: row.currency,
      description: row.description,
      lineItems: row.lineItems,
      taxMinor: row.taxMinor,
      shippingMinor: row.shippingMinor,
      successUrl: row.successUrl,
      cancelUrl: row.cancelUrl,
      metadata: row.metadata,
      webhookUrl: row.webhookUrl,
    },
    conversion:
      rate === null || targetCurrency === null || targetMinor === null
        ? null
        : { rate, currency: targetCurrency, amountMinor: targetMinor, sources: row.rateSources },
    terms: termsOf(row),
    life: lifeOf(row),
    standing: standingOf(row),
    sums: row.sums,
    options: row.options,
    addresses,
    payments,
    paymentCount: row.paymentCount,
    createdAtS: toSeconds(row.createdAtMs),
  };
}
