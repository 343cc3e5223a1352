/**
 * Targets of notices, and what is still to be sent to them. `writer.ts` writes it.
 * @module
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { and, asc, count, countDistinct, eq, gt, inArray, isNotNull, isNull, lt, lte, sql } from 'drizzle-orm';
import { NEWS_AGE_MS_MAX, NEWS_DELAY_MS, repeatAfterMs } from '../../../core/notice.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import { HOUR_MS } from '../../../lib/clock.ts';
import { alarmKey } from '../../alarms.ts';
import type { OperatorAct } from '../../audit-log.ts';
import type { DueNotice, NoticeDatabase, NoticeOutcome } from '../../notices.ts';
import { createAlarmEnder } from '../alarms.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { alarms, notices, noticeTargets } from '../tables.ts';
import type { Vault } from '../vault.ts';

const WRONG_CODES_MAX = 5;
/** An alarm of an event, which no program ends, is told so often. */
const EVENT_TIMES_MAX = 3;

type TargetRow = typeof noticeTargets.$inferSelect;
type NoticeRow = typeof notices.$inferSelect;

const working = { failingSinceMs: null, lastError: null };
const unpaused = { pausedAtMs: null, pausedBy: null };

/** How long news that was told stays, so that messages can be counted. */
const NEWS_KEPT_MS = HOUR_MS;

/** The names under which a target's address and code are sealed. */
export const noticeAddressName = (id: string): string => `where notices of ${id} go`;
export const noticeCodeName = (id: string): string => `code of notices to ${id}`;

const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

export function noticeCommands(db: Db, vault: Vault, recordAct: RecordAct): NoticeDatabase {
  const { orm } = db;
  const rowOf = (id: string): TargetRow | undefined =>
    orm.select().from(noticeTargets).where(eq(noticeTargets.id, id)).get();
  const ofTarget = eq(notices.targetId, sql.placeholder('targetId'));
  const due = atFirstUse(
    orm
      .select({
        id: notices.id,
        alarmId: notices.alarmId,
        code: alarms.code,
        message: alarms.message,
        network: alarms.network,
        change: notices.change,
        news: notices.news,
        facts: notices.facts,
        count: notices.count,
        severity: notices.severity,
        times: notices.times,
        tries: notices.tries,
        createdAtMs: notices.createdAtMs,
      })
      .from(notices)
      .leftJoin(alarms, eq(alarms.id, notices.alarmId))
      .where(and(ofTarget, lte(notices.dueAtMs, sql.placeholder('nowMs'))))
      .orderBy(asc(notices.dueAtMs), asc(notices.id))
      .limit(sql.placeholder('limit')),
  );
  const sentSince = atFirstUse(
    orm
      .select({ messages: countDistinct(notices.sentAtMs) })
      .from(notices)
      .where(and(ofTarget, gt(notices.sentAtMs, sql.placeholder('sinceMs')))),
  );

  /** Returns when a notice that was just sent is sent again. */
  function nextAtMs({ change, severity, times, alarmId, dueAtMs }: NoticeRow, nowMs: number): number | null {
    // It has ended meanwhile.
    if (change !== 'opened' || dueAtMs === null || alarmId === null) return null;
    const alarm = orm.select().from(alarms).where(eq(alarms.id, alarmId)).get();
    if (!alarm || alarm.acknowledgedAtMs !== null) return null;
    // It was put off while it was being sent.
    if (alarm.snoozedUntilMs !== null && alarm.snoozedUntilMs > nowMs) return alarm.snoozedUntilMs;
    if (alarm.key === null && (severity !== 'page' || times + 1 >= EVENT_TIMES_MAX)) return null;
    const afterMs = repeatAfterMs(severity, times + 1);
    return afterMs === null ? null : nowMs + afterMs;
  }

  /** @param untold how much came to the row while it was being sent */
  function settle(row: NoticeRow, untold: number, outcome: NoticeOutcome, nowMs: number): void {
    const isOver = row.news !== null && nowMs - row.createdAtMs > NEWS_AGE_MS_MAX;
    if (row.news !== null && (outcome.kind === 'failed' || (outcome.kind === 'again' && isOver))) {
      orm.delete(notices).where(eq(notices.id, row.id)).run();
      return;
    }
    const nextMs = () => (untold > 0 ? nowMs + NEWS_DELAY_MS : nextAtMs(row, nowMs));
    const rest = untold > 0 && { count: untold, createdAtMs: nowMs };
    const values = {
      sent: () => ({ times: row.times + 1, tries: 0, sentAtMs: nowMs, dueAtMs: nextMs(), ...rest }),
      failed: () => ({ dueAtMs: null }),
      again: () => ({ tries: row.tries + 1, dueAtMs: laterOf(row, outcome, nowMs) }),
      wait: () => ({ dueAtMs: laterOf(row, outcome, nowMs) }),
    }[outcome.kind]();
    orm.update(notices).set(values).where(eq(notices.id, row.id)).run();
  }

  function forgetNews(targetId: string, beforeMs: number): void {
    const isTold = and(isNotNull(notices.news), isNull(notices.dueAtMs), lt(notices.sentAtMs, beforeMs));
    orm
      .delete(notices)
      .where(and(eq(notices.targetId, targetId), isTold))
      .run();
  }

  const endAlarm = createAlarmEnder(db);

  function setPaused(id: string, isPaused: boolean, act: OperatorAct): 'done' | 'already' | null {
    const row = rowOf(id);
    if (!row) return null;
    const wasPaused = row.pausedAtMs !== null;
    if (wasPaused === isPaused) return 'already';
    const values = isPaused
      ? { pausedAtMs: act.atMs, pausedBy: act.operator, ...working }
      : { ...unpaused, digestAtMs: null };
    orm.update(noticeTargets).set(values).where(eq(noticeTargets.id, id)).run();
    // Nobody tries any longer whether its messages arrive.
    if (isPaused) endAlarm(alarmKey('notices', id), act.atMs);
    recordAct(act, { target: id, before: { paused: wasPaused }, after: { paused: isPaused } });
    return 'done';
  }

  return {
    async addNoticeTarget({ address, code, ...target }, act) {
      await db.write(() => {
        const sealed = {
          address: vault.seal(address, noticeAddressName(target.id)),
          code: vault.seal(code, noticeCodeName(target.id)),
        };
        // Whoever it is for sees nothing of a call.
        const provedAtMs = target.kind === 'dead-man' ? act.atMs : null;
        const nothing = { wrongCodes: 0, provedAtMs, ...working, lastSentAtMs: null, ...unpaused };
        orm
          .insert(noticeTargets)
          .values({ ...target, ...sealed, ...nothing, digestAtMs: null, tally: {} })
          .run();
        const { kind, name, payments } = target;
        const after = { kind, name, severities: target.severities.join(' '), payments };
        recordAct(act, { target: target.id, before: null, after });
      });
    },
    async listNoticeTargets() {
      return db.read(() => {
        const waiting = orm
          .select({ targetId: notices.targetId, waiting: count() })
          .from(notices)
          .where(isNotNull(notices.dueAtMs))
          .groupBy(notices.targetId)
          .all();
        const rows = orm
          .select()
          .from(noticeTargets)
          .orderBy(asc(noticeTargets.createdAtMs), asc(noticeTargets.id))
          .all();
        return rows.map(({ address: _address, code: _code, wrongCodes: _wrong, tally: _tally, ...shown }) => ({
          ...shown,
          waiting: waiting.find(({ targetId }) => targetId === shown.id)?.waiting ?? 0,
        }));
      });
    },
    async noticeAddress(id) {
      const row = db.read(() => rowOf(id));
      return row ? vault.open(row.address, noticeAddressName(id)) : null;
    },
    async proveNoticeTarget(id, code, act) {
      return db.write(() => {
        const row = rowOf(id);
        if (!row) return null;
        if (row.wrongCodes >= WRONG_CODES_MAX) return 'too_many';
        const isRight = isSame(code, vault.open(row.code, noticeCodeName(id)));
        const values = isRight ? { provedAtMs: act.atMs } : { wrongCodes: row.wrongCodes + 1 };
        orm.update(noticeTargets).set(values).where(eq(noticeTargets.id, id)).run();
        if (!isRight) return 'wrong';
        recordAct(act, { target: id, before: { proved: row.provedAtMs !== null }, after: { proved: true } });
        return 'proved';
      });
    },
    async pauseNoticeTarget(id, act) {
      return db.write(() => setPaused(id, true, act));
    },
    async resumeNoticeTarget(id, act) {
      return db.write(() => setPaused(id, false, act));
    },
    async removeNoticeTarget(id, act) {
      return db.write(() => {
        const row = rowOf(id);
        if (!row) return false;
        orm.delete(notices).where(eq(notices.targetId, id)).run();
        orm.delete(noticeTargets).where(eq(noticeTargets.id, id)).run();
        recordAct(act, { target: id, before: { kind: row.kind, name: row.name }, after: null });
        return true;
      });
    },
    async dueNotices(targetId, nowMs, limit) {
      return db.read(() => due.all({ targetId, nowMs, limit }).flatMap(toDue));
    },
    async settleNotices(targetId, told, outcome, nowMs) {
      await db.write(() => {
        const rows = orm
          .select()
          .from(notices)
          .where(
            inArray(
              notices.id,
              told.map(({ id }) => id),
            ),
          )
          .all();
        const counts = new Map(told.map(({ id, count }) => [id, count]));
        for (const row of rows) settle(row, row.count - (counts.get(row.id) ?? 0), outcome, nowMs);
        if (outcome.kind === 'wait') return;
        forgetNews(targetId, nowMs - NEWS_KEPT_MS);
        const before = rowOf(targetId);
        const isSent = outcome.kind === 'sent';
        const values = {
          failingSinceMs: isSent ? null : (before?.failingSinceMs ?? nowMs),
          lastError: isSent ? null : outcome.error,
          ...(isSent && { lastSentAtMs: nowMs }),
        };
        orm.update(noticeTargets).set(values).where(eq(noticeTargets.id, targetId)).run();
      });
    },
    async noticesSentSince(targetId, sinceMs) {
      return db.read(() => sentSince.get({ targetId, sinceMs })?.messages ?? 0);
    },
    async setNextDigest(targetId, digestAtMs) {
      return db.write(() => {
        const tally = rowOf(targetId)?.tally ?? {};
        orm.update(noticeTargets).set({ digestAtMs, tally: {} }).where(eq(noticeTargets.id, targetId)).run();
        return tally;
      });
    },
  };
}

type ReadNotice = Omit<NoticeRow, 'targetId' | 'dueAtMs' | 'sentAtMs'> &
  Readonly<{ code: string | null; message: string | null; network: NetworkKey | null }>;

/** Returns a row as what is told; nothing of an alarm that is no longer kept. */
function toDue({ alarmId, code, message, network, change, news, facts, ...row }: ReadNotice): readonly DueNotice[] {
  if (news !== null) return [{ ...row, newsId: row.id, kind: news, facts }];
  if (alarmId === null || code === null || message === null || change === null) return [];
  return [{ ...row, alarmId, code, message, network, change }];
}

/** Returns when a notice is tried again: not before what it was put off to while it was being sent. */
function laterOf({ dueAtMs }: NoticeRow, outcome: NoticeOutcome, nowMs: number): number | null {
  if (dueAtMs === null || !('atMs' in outcome)) return null;
  return dueAtMs > nowMs ? Math.max(dueAtMs, outcome.atMs) : outcome.atMs;
}
