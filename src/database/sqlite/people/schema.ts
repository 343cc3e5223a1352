/**
 * The tables of people for the query builder; see `../schema.ts`.
 * @module
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Role } from '../../../core/access.ts';

export const people = sqliteTable('people', {
  id: text().primaryKey(),
  name: text().notNull(),
  zone: text(),
  language: text(),
  password: text(),
  totpSecret: text(),
  totpStep: integer().notNull(),
  failures: integer().notNull(),
  lockedUntilMs: integer().notNull(),
  createdAtMs: integer().notNull(),
  removedAtMs: integer(),
  hasDenseLists: integer({ mode: 'boolean' }).notNull().default(false),
});

export const memberships = sqliteTable('memberships', {
  personId: text().notNull(),
  storeId: text(),
  role: text().$type<Role>().notNull(),
});

export const recoveryCodes = sqliteTable('recovery_codes', {
  personId: text().notNull(),
  hash: text().notNull(),
});

export const signInLinks = sqliteTable('sign_in_links', {
  hash: text().primaryKey(),
  personId: text().notNull(),
  salt: text().notNull(),
  expiresAtMs: integer().notNull(),
});

export const webSessions = sqliteTable('web_sessions', {
  hash: text().primaryKey(),
  personId: text().notNull(),
  device: text().notNull(),
  address: text().notNull(),
  startedAtMs: integer().notNull(),
  seenAtMs: integer().notNull(),
  sudoUntilMs: integer().notNull(),
  formToken: text().notNull(),
  previousHash: text(),
  previousUntilMs: integer().notNull().default(0),
  isRecovered: integer({ mode: 'boolean' }).notNull().default(false),
});

export const passkeys = sqliteTable('passkeys', {
  id: text().primaryKey(),
  personId: text().notNull(),
  name: text().notNull(),
  publicKey: text().notNull(),
  counter: integer().notNull(),
  createdAtMs: integer().notNull(),
  usedAtMs: integer(),
});
