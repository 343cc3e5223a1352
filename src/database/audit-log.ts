/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 */

import { desc, eq, sql } from 'drizzle-orm';
import type { AuditedChange } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { perDatabase, preparedInsert } from './engine/prepared.ts';
import { createCounters } from './meta.ts';
import { auditLog } from './tables.ts';

/** A person's command: its time, operator and reason. */
export type OperatorAct = Readonly<{
  atMs: number;
  /** The user of the operating system. */
  operator: string;
  /** The words that ran it, such as `network reread`. */
  command: string;
  reason: string | null;
}>;

export type AuditEntry = OperatorAct & AuditedChange & Readonly<{ id: number }>;

/** Saves what a person changed, within the current transaction; nothing where no person did it. */
export type RecordAct = (act: OperatorAct | undefined, change: AuditedChange) => Promise<void>;

export const recordActOf = perDatabase((db: Db): RecordAct => {
  const insert = preparedInsert(db, auditLog);
  const nextNumber = createCounters(db);
  return async (act, change) => {
    if (act) await insert({ id: await nextNumber('audit_log'), ...act, ...change });
  };
});

export function auditCommands(db: Db) {
  const record = recordActOf(db);
  const { id, atMs } = auditLog;
  const newest = () => db.orm.select().from(auditLog).orderBy(desc(atMs), desc(id));
  return {
    /** Records what an operator's command changed outside the database, such as in the settings. */
    async record(act: OperatorAct, change: AuditedChange): Promise<void> {
      await db.write(() => record(act, change));
    },
    /** Returns the newest entries, newest first. @param beforeId only those before the entry with this id */
    async list(limit: number, beforeId: number | null = null): Promise<readonly AuditEntry[]> {
      return db.read(async () => {
        if (beforeId === null) return newest().limit(limit).all();
        const before = await db.orm.select().from(auditLog).where(eq(id, beforeId)).get();
        if (!before) return [];
        return newest().where(sql`(${atMs}, ${id}) < (${before.atMs}, ${before.id})`).limit(limit).all();
      });
    },
  };
}
