/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 * @module
 */
import { desc } from 'drizzle-orm';
import type { AuditDatabase, AuditEntry, OperatorAct } from '../audit-log.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { auditLog } from './schema.ts';

/** Saves what an operator's command changed, within the current transaction. */
export type RecordAct = (act: OperatorAct, change: Pick<AuditEntry, 'target' | 'before' | 'after'>) => void;

export function createAuditLog(db: Db): RecordAct {
  const insert = preparedInsert(db, auditLog, ['id']);
  return (act, change) => void insert({ ...act, ...change });
}

export function auditCommands(db: Db): AuditDatabase {
  return {
    async listAudit(limit) {
      return db.read(() => db.orm.select().from(auditLog).orderBy(desc(auditLog.id)).limit(limit).all());
    },
  };
}
