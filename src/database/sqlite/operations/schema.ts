/**
 * The table of operations for the query builder, as `../schema.ts` has the others.
 * @module
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { OperationResult, OperationState, Wish } from '../../../core/operation.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import { json } from '../column-types.ts';

export const operations = sqliteTable('operations', {
  id: text().primaryKey(),
  network: text().$type<NetworkKey>().notNull(),
  wish: json<Wish>().notNull(),
  planId: text(),
  askedBy: text().notNull(),
  because: text(),
  askedAtMs: integer().notNull(),
  state: text().$type<OperationState>().notNull(),
  runner: text(),
  tries: integer().notNull(),
  startedAtMs: integer(),
  progress: text(),
  result: json<OperationResult>(),
  endedAtMs: integer(),
});
