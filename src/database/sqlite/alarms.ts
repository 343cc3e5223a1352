/**
 * Alarms: what an operator must look at. Only the newest are kept, and those that are open.
 */
import { and, asc, count, desc, eq, gte, inArray, isNotNull, isNull, lt, lte, or } from 'drizzle-orm';
import { heldAlarmCode, heldKinds } from '../../core/held-money.ts';
import type { Alarms, LastingAlarm, NewAlarm } from '../alarms.ts';
import type { RecordAct } from './audit-log.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { alarms, sessions } from './tables.ts';

const ALARMS_KEPT_MAX = 10_000;
/** Alarms older than the newest of this many are not looked at: a page must not read them all. */
const ALARMS_READ_MAX = 500;

/** What a store's people see in lists of their own. */
const listedCodes: ReadonlySet<string> = new Set([...heldKinds.map(heldAlarmCode), 'refund_unapproved']);

/** Raises an alarm within the current transaction. With a key it lasts until it is ended. @returns its id */
export type RaiseAlarm = (alarm: NewAlarm & { readonly key?: string }) => number;

export function createAlarmWriter(db: Db): RaiseAlarm {
  const insert = preparedInsert(db, alarms, ['id']);
  return (alarm) => {
    const key = alarm.key ?? null;
    const unseen = { acknowledgedAtMs: null, acknowledgedBy: null, acknowledgedNote: null };
    const id = Number(insert({ ...alarm, key, endedAtMs: null, resolvedAtMs: null, ...unseen }).lastInsertRowid);
    const isOver = or(isNull(alarms.key), isNotNull(alarms.endedAtMs));
    db.orm
      .delete(alarms)
      .where(and(lte(alarms.id, id - ALARMS_KEPT_MAX), isOver))
      .run();
    return id;
  };
}

/** What is true of a lasting alarm that has not ended. */
export const isOpen = and(isNotNull(alarms.key), isNull(alarms.endedAtMs));
const openOne = (key: string) => and(eq(alarms.key, key), isOpen);

type AlarmRow = typeof alarms.$inferSelect;

/** Ends the open alarm of a key within the current transaction. @returns false when there is none */
export type EndAlarm = (key: string, nowMs: number) => boolean;

export function createAlarmEnder(db: Db): EndAlarm {
  const { orm } = db;
  return (key, endedAtMs) => {
    const open = orm.select({ id: alarms.id }).from(alarms).where(openOne(key)).get();
    if (!open) return false;
    orm.update(alarms).set({ endedAtMs }).where(eq(alarms.id, open.id)).run();
    return true;
  };
}

export function alarmCommands(db: Db, raiseAlarm: RaiseAlarm, recordAct: RecordAct): Alarms {
  const { orm } = db;
  const end = createAlarmEnder(db);

  /** Brings the open alarm up to date. @returns false when it must be raised */
  function renew(open: AlarmRow | undefined, { code, message }: LastingAlarm): boolean {
    if (open?.code !== code) return false;
    if (open.message !== message) orm.update(alarms).set({ message }).where(eq(alarms.id, open.id)).run();
    return true;
  }

  return {
    async raise(alarm) {
      await db.write(() => void raiseAlarm(alarm));
    },
    async keep(alarm) {
      return db.write(() => {
        const open = orm.select().from(alarms).where(openOne(alarm.key)).get();
        if (renew(open, alarm)) return false;
        end(alarm.key, alarm.atMs);
        raiseAlarm(alarm);
        return true;
      });
    },
    async end(key, nowMs) {
      return db.write(() => end(key, nowMs));
    },
    async acknowledge(id, act) {
      return db.write(() => {
        const alarm = orm.select().from(alarms).where(eq(alarms.id, id)).get();
        if (!alarm) return null;
        if (alarm.endedAtMs !== null) return { outcome: 'over', alarm } as const;
        if (alarm.acknowledgedAtMs !== null) return { outcome: 'already', alarm } as const;
        const seen = { acknowledgedAtMs: act.atMs, acknowledgedBy: act.operator, acknowledgedNote: act.reason };
        orm.update(alarms).set(seen).where(eq(alarms.id, id)).run();
        recordAct(act, { target: `A-${id}`, before: { acknowledged: false }, after: { acknowledged: true } });
        return { outcome: 'acknowledged', alarm: { ...alarm, ...seen } } as const;
      });
    },
    async resolve(id, act) {
      return db.write(() => {
        const alarm = orm.select().from(alarms).where(eq(alarms.id, id)).get();
        if (!alarm) return null;
        if (alarm.key !== null) return { outcome: 'lasts', alarm } as const;
        if (alarm.resolvedAtMs !== null) return { outcome: 'already', alarm } as const;
        const seen = alarm.acknowledgedAtMs === null && { acknowledgedAtMs: act.atMs, acknowledgedBy: act.operator };
        const end = { resolvedAtMs: act.atMs, ...seen };
        orm.update(alarms).set(end).where(eq(alarms.id, id)).run();
        recordAct(act, { target: `A-${id}`, before: { resolved: false }, after: { resolved: true } });
        return { outcome: 'resolved', alarm: { ...alarm, ...end } } as const;
      });
    },
    async list(limit, beforeId) {
      const isOlder = beforeId === undefined ? undefined : lt(alarms.id, beforeId);
      return db.read(() => orm.select().from(alarms).where(isOlder).orderBy(desc(alarms.id)).limit(limit).all());
    },
    async countRaised(keys, sinceMs) {
      const counted = db.read(() =>
        keys.map((key) => {
          const isOfKey = and(eq(alarms.key, key), gte(alarms.atMs, sinceMs));
          return [key, orm.select({ of: count() }).from(alarms).where(isOfKey).get()?.of ?? 0] as const;
        }),
      );
      return new Map(counted);
    },
    async listOfStore({ storeId, mode }, limit) {
      return db.read(() => {
        const newest = orm.select().from(alarms).orderBy(desc(alarms.id)).limit(ALARMS_READ_MAX).all();
        const open = newest.filter(({ code, sessionId, endedAtMs, acknowledgedAtMs }) => {
          return sessionId !== null && endedAtMs === null && acknowledgedAtMs === null && !listedCodes.has(code);
        });
        const named = [...new Set(open.flatMap(({ sessionId }) => sessionId ?? []))];
        const own = orm
          .select({ id: sessions.id })
          .from(sessions)
          .where(and(inArray(sessions.id, named), eq(sessions.storeId, storeId), eq(sessions.mode, mode)))
          .all();
        const ids = new Set(own.map(({ id }) => id));
        return open.filter(({ sessionId }) => sessionId !== null && ids.has(sessionId)).slice(0, limit);
      });
    },
    async listOpen() {
      return db.read(() => orm.select().from(alarms).where(isOpen).orderBy(asc(alarms.id)).all());
    },
  };
}
