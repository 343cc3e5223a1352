/**
 * The tables of refunds for the query builder; see `schema.ts`.
 * @module
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { HeldKind } from '../../../core/held-money.ts';
import type { DestinationFrom, RefundReason, RefundStatus } from '../../../core/refund.ts';
import type { Currency, Mode, NetworkKey } from '../../../core/transfer.ts';
import type { Refund, RefundApproval } from '../../refunds.ts';
import { exactJson, json, units } from '../column-types.ts';

const flag = () => integer({ mode: 'boolean' });

export const refundPolicies = sqliteTable('refund_policies', {
  storeId: text().primaryKey(),
  refundWindowS: integer().notNull(),
  refundDailyMinor: integer().notNull(),
  refundAutoMinor: integer().notNull(),
  refundCancelWindowS: integer().notNull(),
  refundClaimS: integer().notNull(),
  refundToSender: flag().notNull(),
  refundEarlyMaxMinor: integer().notNull(),
});

export const refundAddresses = sqliteTable('refund_addresses', {
  sessionId: text().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  key: text().notNull(),
  setAtMs: integer().notNull(),
  mac: text(),
});

export const refunds = sqliteTable('refunds', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  mode: text().$type<Mode>().notNull(),
  refundId: text().notNull(),
  sessionId: text().notNull(),
  bodyHash: text().notNull(),
  amountMinor: units().notNull(),
  currency: text().$type<Currency>().notNull(),
  reason: text().$type<RefundReason>(),
  description: text(),
  metadata: exactJson<NonNullable<Refund['metadata']>>(),
  network: text().$type<NetworkKey>().notNull(),
  units: units().notNull(),
  destination: text(),
  destinationFrom: text().$type<DestinationFrom>(),
  mac: text(),
  claimHash: text(),
  claimUntilS: integer(),
  status: text().$type<RefundStatus>().notNull(),
  needsApproval: flag().notNull(),
  approvedAtMs: integer(),
  /** The newest of each approver. */
  approvals: json<readonly RefundApproval[]>().notNull(),
  failureReason: text(),
  tx: text(),
  receiptNumber: text(),
  createdAtMs: integer().notNull(),
  processingAtMs: integer(),
  processedAtMs: integer(),
  canceledAtMs: integer(),
  /** Of a return of held money: its kind. */
  heldKind: text().$type<HeldKind>(),
  requestedBy: text(),
  approvedDestination: text(),
  requestedKey: text(),
  claimSeenAtMs: integer(),
  linkSeen: flag().notNull(),
});

export const seenPayerLinks = sqliteTable('seen_payer_links', {
  sessionId: text().primaryKey(),
  seenAtMs: integer().notNull(),
});

export const refundDays = sqliteTable('refund_days', {
  storeId: text().notNull(),
  mode: text().$type<Mode>().notNull(),
  day: integer().notNull(),
  amountMinor: units().notNull(),
});

export const receiptNumbers = sqliteTable('receipt_numbers', {
  storeId: text().primaryKey(),
  next: integer().notNull(),
});
