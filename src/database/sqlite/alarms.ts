/**
 * Alarms: what an operator must look at. Only the newest are kept.
 * @module
 */
import { desc, lte } from 'drizzle-orm';
import type { Alarm, Database } from '../database.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { alarms } from './schema.ts';

type AlarmCommands = Pick<Database, 'raiseAlarm' | 'listAlarms'>;

const ALARMS_KEPT_MAX = 10_000;

/** Raises an alarm within the current transaction. */
export type RaiseAlarm = (alarm: Omit<Alarm, 'id'>) => void;

export function createAlarmWriter(db: Db): RaiseAlarm {
  const insert = preparedInsert(db, alarms, ['id']);
  return (alarm) => {
    const { lastInsertRowid } = insert(alarm);
    db.orm
      .delete(alarms)
      .where(lte(alarms.id, Number(lastInsertRowid) - ALARMS_KEPT_MAX))
      .run();
  };
}

export function alarmCommands(db: Db, raiseAlarm: RaiseAlarm): AlarmCommands {
  return {
    async raiseAlarm(alarm) {
      await db.write(() => raiseAlarm(alarm));
    },
    async listAlarms(limit) {
      return db.read(() => db.orm.select().from(alarms).orderBy(desc(alarms.id)).limit(limit).all());
    },
  };
}
