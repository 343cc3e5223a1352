/**
 * The tables of sums by quarter of an hour for the query builder, as `schema.ts` has the others.
 * @module
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Currency, Mode, NetworkKey } from '../../core/transfer.ts';
import { units } from './column-types.ts';

export const quarterTotals = sqliteTable('quarter_totals', {
  storeId: text().notNull(),
  mode: text().$type<Mode>().notNull(),
  quarter: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  currency: text().$type<Currency>().notNull(),
  credits: integer().notNull(),
  creditedPar: units().notNull(),
  reversals: integer().notNull(),
  reversedPar: units().notNull(),
});

export const sessionTotals = sqliteTable('session_totals', {
  storeId: text().notNull(),
  mode: text().$type<Mode>().notNull(),
  quarter: integer().notNull(),
  created: integer().notNull(),
  paid: integer().notNull(),
  unpaid: integer().notNull(),
});
