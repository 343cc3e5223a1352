/**
 * What an operator must look at. The newest are kept.
 * @module
 */
import { desc, lte } from 'drizzle-orm';
import type { Alarm, Store } from '../database.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { alarms } from './schema.ts';

type AlarmCommands = Pick<Store, 'raiseAlarm' | 'listAlarms'>;

const ALARMS_KEPT_MAX = 10_000;

/** Raises an alarm as part of the transaction under way. */
export type Ring = (alarm: Omit<Alarm, 'id'>) => void;

export function createBell(db: Db): Ring {
  const insert = preparedInsert(db, alarms, ['id']);
  return (alarm) => {
    const { lastInsertRowid } = insert(alarm);
    db.orm
      .delete(alarms)
      .where(lte(alarms.id, Number(lastInsertRowid) - ALARMS_KEPT_MAX))
      .run();
  };
}

export function alarmCommands(db: Db, ring: Ring): AlarmCommands {
  return {
    async raiseAlarm(alarm) {
      db.write(() => ring(alarm));
    },
    async listAlarms(limit) {
      return db.read(() => db.orm.select().from(alarms).orderBy(desc(alarms.id)).limit(limit).all());
    },
  };
}
