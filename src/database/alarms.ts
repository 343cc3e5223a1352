/** Alarms for operators. Only the newest are kept, and those that are open. */

import {
  and,
  asc,
  count,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { heldAlarmCode, heldKinds } from '../core/held-money.ts';
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import type { Db } from './engine/open.ts';
import { preparedInsert } from './engine/prepared.ts';
import { createCounters } from './meta.ts';
import { alarms, sessions } from './tables.ts';

type AlarmRow = typeof alarms.$inferSelect;

export type NewAlarm = Pick<AlarmRow, 'atMs' | 'code' | 'message' | 'network' | 'sessionId'>;

/** An alarm that is open until what it reports is over. A key, such as `network:live:bsc`, has at most one open. */
export type LastingAlarm = NewAlarm & Readonly<{ key: string }>;

/** Characters of a note to an alarm, at most. */
export const ALARM_NOTE_CHARS_MAX = 200;

/**
 * `key` is null for an alarm that reports an event, which ends when a person resolves it. `endedAtMs` is null while it
 * is open, and what was acknowledged while nobody has.
 */
export type Alarm = AlarmRow;

/** The outcome of acknowledging an alarm. `over`: it has ended by itself. */
export type Acknowledged = Readonly<{ outcome: 'acknowledged' | 'already' | 'over'; alarm: Alarm }>;

/** The outcome of resolving an alarm. `lasts`: it ends by itself, when what it reports is over. */
export type Resolved = Readonly<{ outcome: 'resolved' | 'already' | 'lasts'; alarm: Alarm }>;

/** Kinds of subjects that are watched. Each network, pool or coin has an alarm of its own. */
export const alarmScopes = [
  'network',
  'payments',
  'pool',
  'rates',
  'coin',
  'clock',
  'key',
  'disk',
  'wallet',
  'payouts',
  'frozen',
  'refunds',
  'held',
  'endpoint',
  'deliveries',
  'sending',
  'comparison',
  'nightly',
  'notices',
  'backup',
  'standby',
  'store',
  'approval',
] as const;
export type AlarmScope = (typeof alarmScopes)[number];

/** Returns the key of a lasting alarm, such as `network:live:bsc`. */
export const alarmKey = (scope: AlarmScope, subject: string): string => (subject ? `${scope}:${subject}` : scope);

const ALARMS_KEPT_MAX = 10_000;
/** Alarms older than the newest of this many are not looked at: a page must not read them all. */
const ALARMS_READ_MAX = 500;

/** Alarms that a store's people see in lists of their own. */
const listedCodes: ReadonlySet<string> = new Set([...heldKinds.map(heldAlarmCode), 'refund_unapproved']);

/** Raises an alarm within the current transaction. With a key it lasts until it is ended. @returns its id */
export type RaiseAlarm = (alarm: NewAlarm & { readonly key?: string }) => Promise<number>;

export function createAlarmWriter(db: Db): RaiseAlarm {
  const insert = preparedInsert(db, alarms);
  const nextNumber = createCounters(db);
  return async (alarm) => {
    const key = alarm.key ?? null;
    const unseen = { acknowledgedAtMs: null, acknowledgedBy: null, acknowledgedNote: null };
    const id = await nextNumber('alarms');
    await insert({ ...alarm, id, key, endedAtMs: null, ...unseen });
    const isOver = or(isNull(alarms.key), isNotNull(alarms.endedAtMs));
    await db.orm
      .delete(alarms)
      .where(and(lte(alarms.id, id - ALARMS_KEPT_MAX), isOver))
      .run();
    return id;
  };
}

/** The condition of a lasting alarm that has not ended. */
export const isOpen = and(isNotNull(alarms.key), isNull(alarms.endedAtMs));
const openOne = (key: string) => and(eq(alarms.key, key), isOpen);

/** Ends the open alarm of a key within the current transaction. @returns false when there is none */
export type EndAlarm = (key: string, nowMs: number) => Promise<boolean>;

export function createAlarmEnder(db: Db): EndAlarm {
  const { orm } = db;
  return async (key, endedAtMs) => {
    const open = await orm.select({ id: alarms.id }).from(alarms).where(openOne(key)).get();
    if (!open) return false;
    await orm.update(alarms).set({ endedAtMs }).where(eq(alarms.id, open.id)).run();
    return true;
  };
}

export function alarmCommands(db: Db, raiseAlarm: RaiseAlarm, recordAct: RecordAct) {
  const { orm } = db;
  const end = createAlarmEnder(db);

  /** Brings the open alarm up to date. @returns false when it must be raised */
  async function renew(open: AlarmRow | undefined, { code, message }: LastingAlarm): Promise<boolean> {
    if (open?.code !== code) return false;
    if (open.message !== message) await orm.update(alarms).set({ message }).where(eq(alarms.id, open.id)).run();
    return true;
  }

  return {
    /** Reports an event. */
    async raise(alarm: NewAlarm): Promise<void> {
      await db.write(async () => {
        await raiseAlarm(alarm);
      });
    },
    /**
     * Raises a lasting alarm, or brings the open one of this key up to date; one with another code is ended first.
     * @returns whether it was raised
     */
    async keep(alarm: LastingAlarm): Promise<boolean> {
      return db.write(async () => {
        const open = await orm.select().from(alarms).where(openOne(alarm.key)).get();
        if (await renew(open, alarm)) return false;
        await end(alarm.key, alarm.atMs);
        await raiseAlarm(alarm);
        return true;
      });
    },
    /** Ends the open alarm of a key. @returns false when there is none */
    async end(key: string, nowMs: number): Promise<boolean> {
      return db.write(() => end(key, nowMs));
    },
    /**
     * Records that somebody looks at an alarm, which ends its repeated notices, but not that of its end. The act's
     * reason is kept as their note, at most `ALARM_NOTE_CHARS_MAX` characters.
     * @returns null if there is no such alarm
     */
    async acknowledge(id: number, act: OperatorAct): Promise<Acknowledged | null> {
      return db.write(async () => {
        const alarm = await orm.select().from(alarms).where(eq(alarms.id, id)).get();
        if (!alarm) return null;
        if (alarm.endedAtMs !== null && alarm.key !== null) return { outcome: 'over', alarm } as const;
        if (alarm.acknowledgedAtMs !== null) return { outcome: 'already', alarm } as const;
        const seen = { acknowledgedAtMs: act.atMs, acknowledgedBy: act.operator, acknowledgedNote: act.reason };
        await orm.update(alarms).set(seen).where(eq(alarms.id, id)).run();
        await recordAct(act, { target: `A-${id}`, before: { acknowledged: false }, after: { acknowledged: true } });
        return { outcome: 'acknowledged', alarm: { ...alarm, ...seen } } as const;
      });
    },
    /**
     * Records that an event which an alarm reports is dealt with: its notices end, and it is no longer shown as open.
     * @returns null if there is no such alarm
     */
    async resolve(id: number, act: OperatorAct): Promise<Resolved | null> {
      return db.write(async () => {
        const alarm = await orm.select().from(alarms).where(eq(alarms.id, id)).get();
        if (!alarm) return null;
        if (alarm.key !== null) return { outcome: 'lasts', alarm } as const;
        if (alarm.endedAtMs !== null) return { outcome: 'already', alarm } as const;
        const seen = alarm.acknowledgedAtMs === null && { acknowledgedAtMs: act.atMs, acknowledgedBy: act.operator };
        const end = { endedAtMs: act.atMs, ...seen };
        await orm.update(alarms).set(end).where(eq(alarms.id, id)).run();
        await recordAct(act, { target: `A-${id}`, before: { resolved: false }, after: { resolved: true } });
        return { outcome: 'resolved', alarm: { ...alarm, ...end } } as const;
      });
    },
    /** Returns the newest alarms, newest first; only those with a lower id than `beforeId`, if one is given. */
    async list(limit: number, beforeId?: number): Promise<readonly Alarm[]> {
      const isOlder = beforeId === undefined ? undefined : lt(alarms.id, beforeId);
      return db.read(() => orm.select().from(alarms).where(isOlder).orderBy(desc(alarms.id)).limit(limit).all());
    },
    /**
     * Returns the newest alarms about a store's sessions that nobody acknowledged, among the newest of all. Held money
     * and refunds to approve are left out: they have lists of their own, with their end.
     */
    async listOfStore(
      { storeId, mode }: Readonly<{ storeId: string; mode: Mode }>,
      limit: number,
    ): Promise<readonly Alarm[]> {
      return db.read(async () => {
        const newest = await orm.select().from(alarms).orderBy(desc(alarms.id)).limit(ALARMS_READ_MAX).all();
        const open = newest.filter(({ code, sessionId, endedAtMs, acknowledgedAtMs }) => {
          return sessionId !== null && endedAtMs === null && acknowledgedAtMs === null && !listedCodes.has(code);
        });
        const named = [...new Set(open.flatMap(({ sessionId }) => sessionId ?? []))];
        const own = await orm
          .select({ id: sessions.id })
          .from(sessions)
          .where(and(inArray(sessions.id, named), eq(sessions.storeId, storeId), eq(sessions.mode, mode)))
          .all();
        const ids = new Set(own.map(({ id }) => id));
        return open.filter(({ sessionId }) => sessionId !== null && ids.has(sessionId)).slice(0, limit);
      });
    },
    /** Returns the lasting alarms that are open, oldest first. */
    async listOpen(): Promise<readonly Alarm[]> {
      return db.read(() => orm.select().from(alarms).where(isOpen).orderBy(asc(alarms.id)).all());
    },
  };
}

// ── Alarms about what waits for a decision ───────────────────────────────────────────────────────────────────────────
// Alarms about stores and refunds are raised and ended in the transaction that changes them. Only the oldest of one
// kind have an alarm, so that nobody can pile them up.

/** Open alarms of one kind at a time; the next is raised when one of them is decided about. */
export const APPROVAL_ALARMS_MAX = 20;

type Waiting = Readonly<{ id: string; about: Omit<NewAlarm, 'atMs'> }>;

/** An alarm's key is the prefix and the id of what waits. */
export function createApprovalAlarms({ orm }: Db, raiseAlarm: RaiseAlarm, endAlarm: EndAlarm) {
  /**
   * Raises the alarms of what waits longest and has none.
   * @param oldest returns these, oldest first; `isUntold` is the condition that an id has no open alarm
   */
  async function raiseNext(
    prefix: string,
    atMs: number,
    oldest: (isUntold: (id: SQLWrapper) => SQL, limit: number) => Promise<readonly Waiting[]>,
  ): Promise<void> {
    // A range of the index, to the character after the prefix's last one.
    const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    const isOfKind = and(isOpen, gt(alarms.key, prefix), lt(alarms.key, end));
    const open = (await orm.select({ of: count() }).from(alarms).where(isOfKind).get())?.of ?? 0;
    if (open >= APPROVAL_ALARMS_MAX) return;
    const isUntold = (id: SQLWrapper): SQL =>
      sql`NOT EXISTS (SELECT 1 FROM ${alarms} WHERE ${alarms.key} = ${prefix} || ${id} AND ${isOpen})`;
    for (const { id, about } of await oldest(isUntold, APPROVAL_ALARMS_MAX - open))
      await raiseAlarm({ key: prefix + id, atMs, ...about });
  }
  return {
    raiseNext,
    end: async (prefix: string, id: string, nowMs: number) => {
      await endAlarm(prefix + id, nowMs);
    },
  };
}

export type ApprovalAlarms = ReturnType<typeof createApprovalAlarms>;
