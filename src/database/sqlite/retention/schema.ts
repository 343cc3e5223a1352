/**
 * The tables of the archive for the query builder, as `../schema.ts` has the others.
 * @module
 */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Mode } from '../../../core/transfer.ts';

export const archiveDictionaries = sqliteTable('archive_dictionaries', {
  id: integer().primaryKey(),
  text: blob({ mode: 'buffer' }).notNull(),
});

export const archivedSessions = sqliteTable('archived_sessions', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  mode: text().$type<Mode>().notNull(),
  orderId: text().notNull(),
  endedAtS: integer().notNull(),
  archivedAtMs: integer().notNull(),
  hasPayerData: integer({ mode: 'boolean' }).notNull(),
  dictionaryId: integer().notNull(),
  content: blob({ mode: 'buffer' }).notNull(),
});
