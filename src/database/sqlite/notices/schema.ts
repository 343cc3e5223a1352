/**
 * The tables of notices for the query builder, as `../schema.ts` has the others.
 * @module
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { News, NewsKind, NewsTally } from '../../../core/news.ts';
import type { Change, Severity } from '../../../core/notice.ts';
import type { ChannelKind, QuietHours } from '../../notices.ts';
import { json } from '../column-types.ts';

export const noticeTargets = sqliteTable('notice_targets', {
  id: text().primaryKey(),
  kind: text().$type<ChannelKind>().notNull(),
  name: text().notNull(),
  address: text().notNull(),
  severities: json<readonly Severity[]>().notNull(),
  storeId: text(),
  showsDetails: integer({ mode: 'boolean' }).notNull(),
  quiet: json<QuietHours>(),
  digestMinute: integer(),
  zone: text().notNull(),
  code: text().notNull(),
  wrongCodes: integer().notNull(),
  createdAtMs: integer().notNull(),
  provedAtMs: integer(),
  failingSinceMs: integer(),
  lastError: text(),
  lastSentAtMs: integer(),
  digestAtMs: integer(),
  afterMinutes: integer().notNull(),
  pausedAtMs: integer(),
  pausedBy: text(),
  payments: integer({ mode: 'boolean' }).notNull(),
  tally: json<NewsTally>().notNull(),
});

export const notices = sqliteTable('notices', {
  id: integer().primaryKey(),
  targetId: text().notNull(),
  alarmId: integer(),
  change: text().$type<Change>(),
  news: text().$type<NewsKind>(),
  facts: json<News>(),
  count: integer().notNull(),
  severity: text().$type<Severity>().notNull(),
  times: integer().notNull(),
  tries: integer().notNull(),
  createdAtMs: integer().notNull(),
  dueAtMs: integer(),
  sentAtMs: integer(),
});
