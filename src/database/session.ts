/**
 * A session's row, and its parts as core sees them.
 */

import { deadline, type Life, type ReceiptState, type ReceiptSum, type Standing, type Terms } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import type { Conversion, OrderDetails, PaymentOption, SessionRequest } from './column-values.ts';
import type { sessions } from './tables.ts';

/** A transfer to the session's address in its current state. */
export type Payment = Readonly<{
  networkKey: NetworkKey;
  network: string;
  currency: Currency;
  units: bigint;
  decimals: number;
  tx: string;
  index: number;
  block: string;
  from: string;
  confirmations: number;
  state: ReceiptState;
  blockTimeS: number;
  /** When it was first read in this block, and first confirmed; null if not, or not by this version. */
  seenAtMs: number | null;
  confirmedAtMs: number | null;
}>;

/** Payments that a session shows: anyone can send any number of transfers to an address. */
export const PAYMENTS_MAX = 100;

/** A session with everything that the API shows. `addresses` maps family to address key. */
export type Session = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  request: SessionRequest;
  conversion: Conversion | null;
  terms: Terms;
  life: Life;
  standing: Standing;
  /** Sums by network, coin and time. */
  sums: readonly ReceiptSum[];
  options: readonly PaymentOption[];
  addresses: Readonly<Record<string, string>>;
  /** The newest `PAYMENTS_MAX` transfers that are not dust, oldest first; `paymentCount` is how many there are. */
  payments: readonly Payment[];
  paymentCount: number;
  createdAtS: number;
}>;

/** A session without what only its own page shows. */
export type SessionSummary = Omit<Session, 'addresses' | 'payments'>;

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

export function termsOf({ terms, createdAtMs, beforeNumbers }: SessionRow): Terms {
  const { duePar, tolerancePar, accepts, expiresAtS, inclusionGraceS, topUpGraceS, monitoringS, latePolicy } = terms;
  return {
    createdAtS: toSeconds(createdAtMs),
    beforeNumbers,
    ...{ duePar, tolerancePar, accepts, expiresAtS, inclusionGraceS, topUpGraceS, monitoringS, latePolicy },
  };
}

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
export const dueOf = ({ terms: { conversion, accepts }, amountMinor }: SessionRow) => ({
  amountMinor: conversion?.amountMinor ?? amountMinor,
  currency: conversion?.currency ?? accepts[0] ?? 'USDT',
});

const noDetails: OrderDetails = {
  description: null,
  lineItems: null,
  successUrl: null,
  cancelUrl: null,
  metadata: null,
};

/** Returns the columns of what a merchant requested; the rest of it is in the terms. */
export function requestColumns(request: SessionRequest) {
  const { orderId, amountMinor, currency, description, lineItems, successUrl, cancelUrl, metadata } = request;
  const details: OrderDetails = { description, lineItems, successUrl, cancelUrl, metadata };
  const isEmpty = Object.values(details).every((value) => value === null);
  return { orderId, amountMinor, currency, orderDetails: isEmpty ? null : details };
}

/** Returns the session as the port shows it. */
export function toSession(
  row: SessionRow,
  addresses: Readonly<Record<string, string>>,
  payments: readonly Payment[],
): Session {
  const { orderId, amountMinor, currency, orderDetails } = row;
  const { taxMinor, shippingMinor, webhookUrl, conversion, options } = row.terms;
  return {
    id: row.id,
    storeId: row.storeId,
    mode: row.mode,
    request: {
      ...{ orderId, amountMinor, currency, taxMinor, shippingMinor, webhookUrl },
      ...(orderDetails ?? noDetails),
    },
    conversion,
    terms: termsOf(row),
    life: lifeOf(row),
    standing: standingOf(row),
    sums: row.sums,
    options,
    addresses,
    payments,
    paymentCount: row.paymentCount,
    createdAtS: toSeconds(row.createdAtMs),
  };
}
