/** Alarms for operators. Closed ones are kept only while they are among the newest. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Told, WatchedAlarm } from '../core/notice.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { NoticeProgress } from './column-values.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, deleteRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
import type { VaultDb } from './sealing.ts';
import { alarms, noticeTargets } from './tables.ts';

type AlarmRow = typeof alarms.$inferSelect;

export type NewAlarm = Pick<AlarmRow, 'atMs' | 'code' | 'message' | 'network' | 'sessionId'>;

/** Most characters of a note to an alarm. */
export const ALARM_NOTE_CHARS_MAX = 200;

/**
 * An alarm. `key` is null if it reports an event, and then it ends once a person acknowledges it. `endedAtMs` is null
 * while it is open. `acknowledged…` are null until a person acknowledges it.
 */
export type Alarm = AlarmRow;

/** Returns the key of a lasting alarm about one network, pool or coin, such as `network:live:bsc`. */
export const alarmKey = (scope: string, subject: string): string => (subject ? `${scope}:${subject}` : scope);

const ALARMS_KEPT_MAX = 10_000;
/** Raises an alarm within the current transaction. With a key it lasts until it is ended. @returns its id */
export async function raiseAlarm(db: Db, alarm: NewAlarm & { readonly key?: string }): Promise<number> {
  const unseen = { acknowledgedAtMs: null, acknowledgedBy: null, acknowledgedNote: null };
  const id = await nextNumber(db, 'alarms');
  await insertRow(db, alarms, { ...alarm, id, key: alarm.key ?? null, endedAtMs: null, ...unseen });
  const forget = db.client.prepare('DELETE FROM alarms WHERE id <= ? AND (key IS NULL OR ended_at_ms IS NOT NULL)');
  await forget.run(id - ALARMS_KEPT_MAX);
  return id;
}

/** Ends the open alarm of a key within the current transaction. @returns false when there is none */
export async function endAlarm({ client }: Db, key: string, atMs: number): Promise<boolean> {
  const end = client.prepare('UPDATE alarms SET ended_at_ms = :atMs WHERE key = :key AND ended_at_ms IS NULL');
  return (await end.run({ key, atMs })).changes > 0;
}

export function alarmCommands(db: Db) {
  return {
    /** Reports an event. */
    async raise(alarm: NewAlarm): Promise<void> {
      await db.write(() => raiseAlarm(db, alarm));
    },
    /**
     * Raises a lasting alarm, or updates the open one of its key. An open one with another code is ended first.
     * @returns whether it was raised
     */
    async keep(alarm: NewAlarm & Readonly<{ key: string }>): Promise<boolean> {
      return db.write(async () => {
        const { key, code, message } = alarm;
        const open = await findRow(db, alarms, 'WHERE key = :key AND ended_at_ms IS NULL', { key });
        if (open?.code === code) {
          if (open.message !== message) await changeRows(db, alarms, { id: open.id }, { message });
          return false;
        }
        await endAlarm(db, key, alarm.atMs);
        await raiseAlarm(db, alarm);
        return true;
      });
    },
    /** Ends the open alarm of a key. @returns false when there is none */
    async end(key: string, nowMs: number): Promise<boolean> {
      return db.write(() => endAlarm(db, key, nowMs));
    },
    /**
     * Records that a person has seen an alarm. This ends the alarm of an event. A lasting one ends by itself, and its
     * notices are no longer repeated. The act's reason is kept as a note of at most `ALARM_NOTE_CHARS_MAX` characters.
     * @returns null if there is no such alarm. `over`: it had ended by itself. `already`: it was acknowledged before
     */
    async acknowledge(id: number, act: OperatorAct) {
      return db.write(async () => {
        const alarm = await findRow(db, alarms, { id });
        if (!alarm) return null;
        const isEvent = alarm.key === null;
        if (alarm.endedAtMs !== null && !isEvent) return { outcome: 'over', alarm } as const;
        if (alarm.acknowledgedAtMs !== null) return { outcome: 'already', alarm } as const;
        const seen = {
          acknowledgedAtMs: act.atMs,
          acknowledgedBy: act.operator,
          acknowledgedNote: act.reason,
          ...(isEvent && { endedAtMs: act.atMs }),
        };
        await changeRows(db, alarms, { id }, seen);
        await recordAct(db, act, { target: `A-${id}`, before: { acknowledged: false }, after: { acknowledged: true } });
        return { outcome: 'acknowledged', alarm: { ...alarm, ...seen } } as const;
      });
    },
    /** Returns the newest alarms, newest first, with ids below `beforeId`. */
    async list(limit: number, beforeId = Number.MAX_SAFE_INTEGER): Promise<readonly Alarm[]> {
      const newest = 'WHERE id < :beforeId ORDER BY id DESC LIMIT :limit';
      return db.read(() => findRows(db, alarms, newest, { limit, beforeId }));
    },
    /** Returns the lasting alarms that are open, oldest first. */
    async listOpen(): Promise<readonly Alarm[]> {
      const open = 'WHERE key IS NOT NULL AND ended_at_ms IS NULL ORDER BY at_ms, id';
      return db.read(() => findRows(db, alarms, open));
    },
  };
}

// ── Targets of notices ───────────────────────────────────────────────────────────────────────────────────────────────
// Each target has a record of the alarms that it was notified of, with times.

/** The text that a person types to add a target. `to`: a mail address, or Telegram's id of a chat. */
export type TargetField = 'url' | 'token' | 'to';
export type TargetText = Readonly<Partial<Record<TargetField, string>>>;

/** Most targets. One pass sends to all of them in parallel. */
export const TARGETS_MAX = 50;
export const TARGET_NAME_CHARS_MAX = 64;

/** `severity` is the lowest that the target is notified of. `address` and `code` are sealed in the database. */
export type NewNoticeTarget = Omit<typeof noticeTargets.$inferSelect, 'provedAtMs' | 'progress'>;

/** A target of notices. Until `provedAtMs` is set, it gets only the code. */
export type NoticeTarget = Readonly<ReturnType<typeof toTarget>>;

const toTarget = ({ address: _, code: __, progress, ...shown }: typeof noticeTargets.$inferSelect) => ({
  ...shown,
  ...progress,
});

/** Returns whether a target gets notices of alarms. A dead-man URL gets none. */
export const isInformed = ({ kind, provedAtMs }: NoticeTarget): boolean => kind !== 'dead-man' && provedAtMs !== null;

/** The outcome of a message. `read`: there was nothing to send. `waitMs`: wait before the next message. */
export type NoticeOutcome =
  | Readonly<{ kind: 'read'; throughId: number }>
  | Readonly<{ kind: 'sent'; told: readonly Told[]; throughId: number; waitMs: number }>
  | Readonly<{ kind: 'failed'; error: string; waitMs: number }>;

const WRONG_CODES_MAX = 5;
/** Newest alarms in a target's record. Beyond them, it keeps lasting alarms only. */
const TOLD_KEPT_MAX = 1_000;

/** Returns the name under which a target's address is sealed. */
export const noticeAddressName = (id: string): string => `where notices of ${id} go`;
/** Returns the name under which a target's code is sealed. */
export const noticeCodeName = (id: string): string => `code of notices to ${id}`;

const nothingSent: NoticeProgress = {
  throughAlarmId: 0,
  toldAtMs: {},
  triedAtMs: null,
  waitMs: 0,
  tries: 0,
  failingSinceMs: null,
  lastError: null,
  lastSentAtMs: null,
  wrongCodes: 0,
};

const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

export function noticeCommands(db: VaultDb) {
  const { vault } = db;
  const rowOf = (id: string) => findRow(db, noticeTargets, { id });
  return {
    ...createAlarmWatch(db),
    /** Adds a target, which must be proved with its code. A dead-man URL is proved at once. */
    async addTarget({ address, code, ...target }: NewNoticeTarget, act: OperatorAct): Promise<void> {
      await db.write(async () => {
        const sealed = {
          address: vault.seal(address, noticeAddressName(target.id)),
          code: vault.seal(code, noticeCodeName(target.id)),
        };
        // A dead-man call reaches no person, so nobody could type a code from it.
        const provedAtMs = target.kind === 'dead-man' ? act.atMs : null;
        await insertRow(db, noticeTargets, { ...target, ...sealed, provedAtMs, progress: nothingSent });
        const { kind, name, severity } = target;
        await recordAct(db, act, { target: target.id, before: null, after: { kind, name, severity } });
      });
    },
    async listTargets(): Promise<readonly NoticeTarget[]> {
      return (await db.read(() => findRows(db, noticeTargets, 'ORDER BY created_at_ms, id'))).map(toTarget);
    },
    /** Returns a target's address, which contains its secrets; null if there is no such target. */
    async addressOf(id: string): Promise<string | null> {
      const row = await db.read(() => rowOf(id));
      return row ? vault.open(row.address, noticeAddressName(id)) : null;
    },
    /**
     * Marks a target as proved if the code is right. After five wrong ones it must be added again.
     * @returns null if there is no such target
     */
    async proveTarget(id: string, code: string, act: OperatorAct): Promise<'proved' | 'wrong' | 'too_many' | null> {
      return db.write(async () => {
        const row = await rowOf(id);
        if (!row) return null;
        const { wrongCodes } = row.progress;
        if (wrongCodes >= WRONG_CODES_MAX) return 'too_many';
        const isRight = isSame(code, vault.open(row.code, noticeCodeName(id)));
        const counted = { progress: { ...row.progress, wrongCodes: wrongCodes + 1 } };
        const values = isRight ? { provedAtMs: act.atMs } : counted;
        await changeRows(db, noticeTargets, { id }, values);
        if (!isRight) return 'wrong';
        await recordAct(db, act, { target: id, before: { proved: row.provedAtMs !== null }, after: { proved: true } });
        return 'proved';
      });
    },
    /** Removes a target with its secrets. @returns false if there is none */
    async removeTarget(id: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const row = await rowOf(id);
        if (!row) return false;
        await deleteRows(db, noticeTargets, { id });
        await recordAct(db, act, { target: id, before: { kind: row.kind, name: row.name }, after: null });
        return true;
      });
    },
    /** Records the outcome of a message to a target. */
    async settleNotice(targetId: string, outcome: NoticeOutcome, nowMs: number): Promise<void> {
      await db.write(async () => {
        const row = await rowOf(targetId);
        // The target was removed meanwhile.
        if (!row) return;
        const progress = { ...row.progress, ...(await changeOf(db, row.progress, outcome, nowMs)) };
        await changeRows(db, noticeTargets, { id: targetId }, { progress });
      });
    },
  };
}

const watched = ({ id, key, code, message, network, endedAtMs, acknowledgedAtMs }: AlarmRow) => ({
  id,
  key,
  code,
  message,
  network,
  isOver: endedAtMs !== null,
  isAcknowledged: acknowledgedAtMs !== null,
});

function createAlarmWatch(db: Db) {
  const newest = db.client.values<number>('SELECT id FROM alarms WHERE id > ? ORDER BY id DESC LIMIT 1');
  const needing = `WHERE id > :after AND id <= :lastId AND ended_at_ms IS NULL AND acknowledged_at_ms IS NULL
    ORDER BY id LIMIT :limit`;
  return {
    /**
     * Returns all alarms in a target's record, and at most `limit` newer ones that need a person.
     * @returns `throughId`: all alarms up to this id are included
     */
    async watchedAlarms(
      { throughAlarmId: after, toldAtMs }: Pick<NoticeTarget, 'throughAlarmId' | 'toldAtMs'>,
      limit: number,
    ): Promise<Readonly<{ alarms: readonly WatchedAlarm[]; throughId: number }>> {
      return db.read(async () => {
        const lastId = (await newest.get(after)) ?? after;
        const told = Object.keys(toldAtMs)
          .map(Number)
          .sort((a, b) => a - b);
        const before = (await mapInOrder(told, (id) => findRow(db, alarms, { id }))).flatMap((row) => row ?? []);
        const fresh = await findRows(db, alarms, needing, { after, lastId, limit });
        const all = [...before, ...fresh].map((row) => ({ ...watched(row), toldAtMs: toldAtMs[row.id] ?? null }));
        return { alarms: all, throughId: fresh.length < limit ? lastId : (fresh.at(-1)?.id ?? after) };
      });
    },
  };
}

/** Returns the change of a target's progress after a message. */
async function changeOf(
  db: Db,
  before: NoticeProgress,
  outcome: NoticeOutcome,
  nowMs: number,
): Promise<Partial<NoticeProgress>> {
  switch (outcome.kind) {
    case 'read':
      return { throughAlarmId: outcome.throughId };
    case 'sent': {
      const { throughId: throughAlarmId, waitMs } = outcome;
      const working = { tries: 0, failingSinceMs: null, lastError: null, lastSentAtMs: nowMs, triedAtMs: nowMs };
      return {
        throughAlarmId,
        waitMs,
        ...working,
        toldAtMs: await toldAfter(db, before.toldAtMs, outcome.told, nowMs),
      };
    }
    case 'failed': {
      const failing = { failingSinceMs: before.failingSinceMs ?? nowMs, lastError: outcome.error };
      return { triedAtMs: nowMs, waitMs: outcome.waitMs, tries: before.tries + 1, ...failing };
    }
  }
}

type ToldAtMs = NoticeProgress['toldAtMs'];

/** Returns a target's record after a message: the time of its last notice of each alarm. */
async function toldAfter(db: Db, before: ToldAtMs, told: readonly Told[], nowMs: number): Promise<ToldAtMs> {
  const all = new Map(Object.entries(before).map(([id, atMs]) => [Number(id), atMs]));
  for (const { id, change } of told) {
    if (change === 'ended') all.delete(id);
    else all.set(id, nowMs);
  }
  // Unacknowledged events may pile up, but a pass reads only a few of them again.
  const oldest = [...all.keys()].sort((a, b) => b - a).slice(TOLD_KEPT_MAX);
  for (const id of oldest) if (!(await findRow(db, alarms, { id }))?.key) all.delete(id);
  return Object.fromEntries(all);
}
