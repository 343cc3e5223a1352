/**
 * Targets of notices, and when each last heard of which alarm.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { and, asc, eq, gt, isNull, lte, max, sql } from 'drizzle-orm';
import type { Severity, Told, WatchedAlarm } from '../core/notice.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import type { ChannelKind } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse } from './engine/prepared.ts';
import { alarms, notices, noticeTargets } from './tables.ts';
import type { Vault } from './vault.ts';

/** What a person types to add a target. `secret`: a token, topic, password or URL; `token`: ntfy's access token. */
export type TargetField = 'secret' | 'token' | 'to' | 'from' | 'smtp' | 'user' | 'server';
export type TargetText = Readonly<Partial<Record<TargetField, string>>>;

/** A pass sends to all of them side by side. */
export const TARGETS_MAX = 50;
export const TARGET_NAME_CHARS_MAX = 64;

export type NewNoticeTarget = Readonly<{
  id: string;
  kind: ChannelKind;
  /** What people call it. */
  name: string;
  /** Where it goes and with what secrets, as its channel reads it; sealed in the file. */
  address: string;
  /** The least severity that it hears of. */
  severity: Severity;
  /** What a person types to prove that messages arrive. */
  code: string;
  createdAtMs: number;
}>;

export type NoticeTarget = Omit<NewNoticeTarget, 'address' | 'code'> &
  Readonly<{
    /** Until then nothing but the code is sent. */
    provedAtMs: number | null;
    /** Up to this id, alarms were told or need not be. */
    throughAlarmId: number;
    /** When a message was last tried, and how long the next one waits. */
    triedAtMs: number | null;
    waitMs: number;
    /** How often in a row it failed. */
    tries: number;
    failingSinceMs: number | null;
    lastError: string | null;
    lastSentAtMs: number | null;
  }>;

/** Whether a target is informed about alarms. A URL that is only called never is. */
export const isInformed = ({ kind, provedAtMs }: NoticeTarget): boolean => kind !== 'dead-man' && provedAtMs !== null;

/** Alarms about which a target may have to be informed. `throughId`: none up to this id is missing. */
export type WatchedAlarms = Readonly<{ alarms: readonly WatchedAlarm[]; throughId: number }>;

/** What became of a message. `read`: nothing was to be sent. `waitMs`: how long the next one waits. */
export type NoticeOutcome =
  | Readonly<{ kind: 'read'; throughId: number }>
  | Readonly<{ kind: 'sent'; told: readonly Told[]; throughId: number; waitMs: number }>
  | Readonly<{ kind: 'failed'; error: string; waitMs: number }>;

const WRONG_CODES_MAX = 5;
/** Alarms that a target has heard of, so many of the newest. Older events are not repeated; what lasts always is. */
const TOLD_KEPT_MAX = 1_000;

type TargetRow = typeof noticeTargets.$inferSelect;
type AlarmRow = typeof alarms.$inferSelect;

/** The names under which a target's address and code are sealed. */
export const noticeAddressName = (id: string): string => `where notices of ${id} go`;
export const noticeCodeName = (id: string): string => `code of notices to ${id}`;

const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

export function noticeCommands(db: Db, vault: Vault, recordAct: RecordAct) {
  const { orm } = db;
  const rowOf = (id: string): TargetRow | undefined =>
    orm.select().from(noticeTargets).where(eq(noticeTargets.id, id)).get();
  return {
    ...createAlarmWatch(db),
    /** Adds a target, which waits for its code. A URL that is only called is proved by its answer, so at once. */
    async addTarget({ address, code, ...target }: NewNoticeTarget, act: OperatorAct): Promise<void> {
      await db.write(() => {
        const sealed = {
          address: vault.seal(address, noticeAddressName(target.id)),
          code: vault.seal(code, noticeCodeName(target.id)),
        };
        // A person sees nothing of a call, so there is no code to type.
        const provedAtMs = target.kind === 'dead-man' ? act.atMs : null;
        const untold = { throughAlarmId: 0, triedAtMs: null, waitMs: 0, tries: 0, lastSentAtMs: null };
        const fresh = { wrongCodes: 0, provedAtMs, ...untold, failingSinceMs: null, lastError: null };
        orm
          .insert(noticeTargets)
          .values({ ...target, ...sealed, ...fresh })
          .run();
        const { kind, name, severity } = target;
        recordAct(act, { target: target.id, before: null, after: { kind, name, severity } });
      });
    },
    async listTargets(): Promise<readonly NoticeTarget[]> {
      const rows = db.read(() =>
        orm.select().from(noticeTargets).orderBy(asc(noticeTargets.createdAtMs), asc(noticeTargets.id)).all(),
      );
      return rows.map(({ address: _address, code: _code, wrongCodes: _wrong, ...shown }) => shown);
    },
    /** Returns where a target's messages go, with its secrets; null if there is none. */
    async addressOf(id: string): Promise<string | null> {
      const row = db.read(() => rowOf(id));
      return row ? vault.open(row.address, noticeAddressName(id)) : null;
    },
    /**
     * Marks a target as proved if the code is right. After five wrong ones it must be added again.
     * @returns null if there is no such target
     */
    async proveTarget(id: string, code: string, act: OperatorAct): Promise<'proved' | 'wrong' | 'too_many' | null> {
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
    /** Removes a target, and forgets its secrets. @returns false if there is none */
    async removeTarget(id: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        const row = rowOf(id);
        if (!row) return false;
        orm.delete(notices).where(eq(notices.targetId, id)).run();
        orm.delete(noticeTargets).where(eq(noticeTargets.id, id)).run();
        recordAct(act, { target: id, before: { kind: row.kind, name: row.name }, after: null });
        return true;
      });
    },
    /** Records what became of a message to a target. */
    async settle(targetId: string, outcome: NoticeOutcome, nowMs: number): Promise<void> {
      await db.write(() => {
        const row = rowOf(targetId);
        // It was removed meanwhile.
        if (!row) return;
        orm
          .update(noticeTargets)
          .set(changeOf(row, outcome, nowMs))
          .where(eq(noticeTargets.id, targetId))
          .run();
        if (outcome.kind === 'sent') recordTold(db, targetId, outcome.told, nowMs);
      });
    },
  };
}

const watched = ({ id, key, code, message, network, endedAtMs, resolvedAtMs, acknowledgedAtMs }: AlarmRow) => ({
  ...{ id, key, code, message, network },
  isOver: endedAtMs !== null || resolvedAtMs !== null,
  isAcknowledged: acknowledgedAtMs !== null,
});

function createAlarmWatch(db: Db) {
  const { orm } = db;
  const told = atFirstUse(
    orm
      .select({ alarm: alarms, toldAtMs: notices.toldAtMs })
      .from(notices)
      .innerJoin(alarms, eq(alarms.id, notices.alarmId))
      .where(eq(notices.targetId, sql.placeholder('targetId')))
      .orderBy(asc(notices.alarmId)),
  );
  const last = atFirstUse(orm.select({ id: max(alarms.id) }).from(alarms));
  const isNew = and(gt(alarms.id, sql.placeholder('after')), lte(alarms.id, sql.placeholder('last')));
  const untold = atFirstUse(
    orm
      .select()
      .from(alarms)
      .where(and(isNew, isNull(alarms.endedAtMs), isNull(alarms.resolvedAtMs), isNull(alarms.acknowledgedAtMs)))
      .orderBy(asc(alarms.id))
      .limit(sql.placeholder('limit')),
  );
  return {
    /** Returns all alarms that a target has heard of, and at most `limit` newer ones that need somebody. */
    async watchedAlarms(
      { id: targetId, throughAlarmId: after }: Pick<NoticeTarget, 'id' | 'throughAlarmId'>,
      limit: number,
    ): Promise<WatchedAlarms> {
      return db.read(() => {
        // Read first: an alarm that another process raises meanwhile is not passed over.
        const lastId = Math.max(last.get()?.id ?? 0, after);
        const before = told.all({ targetId });
        const fresh = untold.all({ after, last: lastId, limit });
        const known = before.map(({ alarm, toldAtMs }): WatchedAlarm => ({ ...watched(alarm), toldAtMs }));
        const added = fresh.map((alarm): WatchedAlarm => ({ ...watched(alarm), toldAtMs: null }));
        return { alarms: [...known, ...added], throughId: fresh.length < limit ? lastId : (fresh.at(-1)?.id ?? after) };
      });
    },
  };
}

/** Returns what a message changes in its target's row. */
function changeOf(row: TargetRow, outcome: NoticeOutcome, nowMs: number): Partial<TargetRow> {
  switch (outcome.kind) {
    case 'read':
      return { throughAlarmId: outcome.throughId };
    case 'sent': {
      const working = { tries: 0, failingSinceMs: null, lastError: null, lastSentAtMs: nowMs };
      return { throughAlarmId: outcome.throughId, triedAtMs: nowMs, waitMs: outcome.waitMs, ...working };
    }
    case 'failed': {
      const failing = { failingSinceMs: row.failingSinceMs ?? nowMs, lastError: outcome.error };
      return { triedAtMs: nowMs, waitMs: outcome.waitMs, tries: row.tries + 1, ...failing };
    }
  }
}

function recordTold({ orm }: Db, targetId: string, told: readonly Told[], toldAtMs: number): void {
  for (const { id: alarmId, change } of told) {
    if (change === 'ended') {
      orm
        .delete(notices)
        .where(and(eq(notices.targetId, targetId), eq(notices.alarmId, alarmId)))
        .run();
    } else {
      orm
        .insert(notices)
        .values({ targetId, alarmId, toldAtMs })
        .onConflictDoUpdate({ target: [notices.targetId, notices.alarmId], set: { toldAtMs } })
        .run();
    }
  }
  // However many events come that nobody acknowledges, a pass reads few of them again.
  orm.run(sql`
    DELETE FROM notices WHERE target_id = ${targetId} AND alarm_id <= (
      SELECT alarm_id FROM notices WHERE target_id = ${targetId} ORDER BY alarm_id DESC LIMIT 1 OFFSET ${TOLD_KEPT_MAX}
    ) AND NOT EXISTS (SELECT 1 FROM alarms WHERE alarms.id = notices.alarm_id AND alarms.key IS NOT NULL)`);
}
