/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 * @module
 */
import { desc } from 'drizzle-orm';
import type { AuditDatabase, AuditEntry, OperatorAct, TargetedAct } from '../audit-log.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { auditLog } from './schema.ts';

/** Saves what an operator's command changed, within the current transaction. */
export type RecordAct = (act: OperatorAct, change: Pick<AuditEntry, 'target' | 'before' | 'after'>) => void;

export function createAuditLog(db: Db): RecordAct {
  const insert = preparedInsert(db, auditLog, ['id']);
  return (act, change) => void insert({ ...act, ...change });
}

/**
 * Returns the same database for one command of an operator: if its first write that changes something is not recorded
 * by the write itself, it is recorded as this act, in the same transaction.
 */
export function recordFirstWrite(db: Db, { target, ...act }: TargetedAct): Db {
  const recordAct = createAuditLog(db);
  const changedRows = db.client.prepare('SELECT total_changes()').pluck();
  const newestEntry = db.client.prepare('SELECT max(id) FROM audit_log').pluck();
  let isRecorded = false;
  return {
    ...db,
    async write(work, options) {
      if (isRecorded) return db.write(work, options);
      let hasChanged = false;
      const result = await db.write(() => {
        const [rows, newest] = [changedRows.get(), newestEntry.get()];
        const done = work();
        hasChanged = changedRows.get() !== rows;
        if (hasChanged && newestEntry.get() === newest) recordAct(act, { target, before: null, after: null });
        return done;
      }, options);
      isRecorded = hasChanged;
      return result;
    },
  };
}

export function auditCommands(db: Db): AuditDatabase {
  return {
    async listAudit(limit) {
      return db.read(() => db.orm.select().from(auditLog).orderBy(desc(auditLog.id)).limit(limit).all());
    },
  };
}
