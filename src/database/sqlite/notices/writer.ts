/**
 * Writes what is to be sent about an alarm, in the transaction that opens, acknowledges or ends it.
 * @module
 */
import { and, eq, getTableColumns, isNotNull, lte, sql } from 'drizzle-orm';
import { isWorse, noticeDelayMs, repeatAfterMs, severityOf } from '../../../core/notice.ts';
import { alarmKey, type NewAlarm } from '../../alarms.ts';
import type { Db } from '../open.ts';
import { atFirstUse, preparedInsert } from '../prepared.ts';
import { alarms, notices, noticeTargets, sessions } from '../tables.ts';

type Opened = Pick<NewAlarm, 'atMs' | 'code' | 'sessionId'> & Readonly<{ id: number; key: string | null }>;

const MINUTE_MS = 60_000;

/** To be called within the transaction of the alarm's change. */
export type NoticeWriter = Readonly<{
  opened(alarm: Opened): void;
  acknowledged(alarmId: number, nowMs: number): void;
  /** Puts off an open alarm's notices: whoever was informed hears of it again then. */
  snoozed(alarmId: number, untilMs: number): void;
  ended(alarmId: number, nowMs: number): void;
  /** Forgets what was informed about alarms that are no longer kept, up to this one. */
  forget(throughAlarmId: number): void;
}>;

export function createNoticeWriter(db: Pick<Db, 'orm'>): NoticeWriter {
  const { orm } = db;
  const insertRow = preparedInsert(db, notices, ['id']);
  const insert = (row: Omit<Parameters<typeof insertRow>[0], 'news' | 'facts' | 'count'>) =>
    insertRow({ ...row, news: null, facts: null, count: 1 });
  const targets = atFirstUse(orm.select().from(noticeTargets).where(isNotNull(noticeTargets.provedAtMs)));
  const storeOf = atFirstUse(
    orm
      .select({ storeId: sessions.storeId })
      .from(sessions)
      .where(eq(sessions.id, sql.placeholder('id'))),
  );
  /** The end of an earlier alarm with the same key that was not told yet. */
  const untoldEnd = atFirstUse(
    orm
      .select({ id: notices.id, severity: notices.severity })
      .from(notices)
      .innerJoin(alarms, eq(alarms.id, notices.alarmId))
      .where(
        and(
          eq(notices.targetId, sql.placeholder('targetId')),
          isNotNull(notices.dueAtMs),
          eq(notices.change, sql`'ended'`),
          eq(alarms.key, sql.placeholder('key')),
        ),
      )
      .limit(1),
  );
  const told = atFirstUse(
    orm
      .select({ ...getTableColumns(notices), afterMinutes: noticeTargets.afterMinutes })
      .from(notices)
      .innerJoin(noticeTargets, eq(noticeTargets.id, notices.targetId))
      .where(and(eq(notices.alarmId, sql.placeholder('alarmId')), eq(notices.change, sql`'opened'`))),
  );

  return {
    opened({ id: alarmId, key, atMs, code, sessionId }) {
      const severity = severityOf(code);
      const fresh = {
        alarmId,
        change: 'opened',
        severity,
        times: 0,
        tries: 0,
        createdAtMs: atMs,
        sentAtMs: null,
      } as const;
      const storeId = sessionId === null ? null : (storeOf.get({ id: sessionId })?.storeId ?? null);
      for (const target of targets.all()) {
        const targetId = target.id;
        const isTheirs = target.storeId === null || target.storeId === storeId;
        // A target that fails is reported to the others.
        if (!isTheirs || !target.severities.includes(severity) || key === alarmKey('notices', targetId)) continue;
        const end = key === null ? undefined : untoldEnd.get({ targetId, key });
        if (end) orm.delete(notices).where(eq(notices.id, end.id)).run();
        if (end && !isWorse(severity, end.severity)) {
          // It was over for a moment only: for whoever had heard of it, it has gone on.
          const againMs = repeatAfterMs(severity, 1);
          insert({ ...fresh, targetId, times: 1, dueAtMs: againMs === null ? null : atMs + againMs, sentAtMs: atMs });
        } else {
          const delayMs = Math.max(noticeDelayMs('opened', severity), target.afterMinutes * MINUTE_MS);
          insert({ ...fresh, targetId, dueAtMs: atMs + delayMs });
        }
      }
    },
    acknowledged(alarmId, nowMs) {
      for (const { id, targetId, severity, sentAtMs, afterMinutes } of told.all({ alarmId })) {
        // Who has not heard of it yet hears of it once, at the time that was set, if they were not for later.
        if (sentAtMs === null && afterMinutes === 0) continue;
        orm.update(notices).set({ dueAtMs: null }).where(eq(notices.id, id)).run();
        if (sentAtMs === null) continue;
        const fresh = { targetId, alarmId, severity, times: 0, tries: 0, createdAtMs: nowMs, sentAtMs: null } as const;
        insert({ ...fresh, change: 'acknowledged', dueAtMs: nowMs + noticeDelayMs('acknowledged', severity) });
      }
    },
    snoozed(alarmId, untilMs) {
      for (const { id, sentAtMs, dueAtMs } of told.all({ alarmId })) {
        // Who has not heard of it yet is not told earlier than without this.
        const nextAtMs = sentAtMs === null ? Math.max(dueAtMs ?? untilMs, untilMs) : untilMs;
        orm.update(notices).set({ dueAtMs: nextAtMs }).where(eq(notices.id, id)).run();
      }
    },
    ended(alarmId, nowMs) {
      orm
        .update(notices)
        .set({ dueAtMs: null })
        .where(and(eq(notices.alarmId, alarmId), eq(notices.change, 'acknowledged')))
        .run();
      for (const { id, targetId, severity, sentAtMs } of told.all({ alarmId })) {
        orm.update(notices).set({ dueAtMs: null }).where(eq(notices.id, id)).run();
        // Whoever was not told that it began is not told that it ended.
        if (sentAtMs === null) continue;
        const over = { targetId, alarmId, change: 'ended', severity, times: 0, tries: 0, createdAtMs: nowMs } as const;
        insert({ ...over, dueAtMs: nowMs + noticeDelayMs('ended', severity), sentAtMs: null });
      }
    },
    forget(throughAlarmId) {
      const isOpen = sql`EXISTS (SELECT 1 FROM ${alarms} WHERE ${alarms.id} = ${notices.alarmId})`;
      orm
        .delete(notices)
        .where(and(lte(notices.alarmId, throughAlarmId), sql`NOT ${isOpen}`))
        .run();
    },
  };
}
