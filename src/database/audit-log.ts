/** The audit log of operators' changes. It is append-only, which triggers enforce. */

import type { AuditedChange } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { findRows, insertRow } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
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

/** Saves a person's change within the current transaction. Does nothing if no person made it. */
export async function recordAct(db: Db, act: OperatorAct | undefined, change: AuditedChange): Promise<void> {
  if (act) await insertRow(db, auditLog, { id: await nextNumber(db, 'audit_log'), ...act, ...change });
}

export function auditCommands(db: Db) {
  return {
    /** Records an operator's change outside the database, such as in the settings. */
    async record(act: OperatorAct, change: AuditedChange): Promise<void> {
      await db.write(() => recordAct(db, act, change));
    },
    /** Returns the newest entries, newest first, with ids below `beforeId`. */
    async list(limit: number, beforeId = Number.MAX_SAFE_INTEGER): Promise<readonly AuditEntry[]> {
      const newest = 'WHERE id < :beforeId ORDER BY id DESC LIMIT :limit';
      return db.read(() => findRows(db, auditLog, newest, { limit, beforeId }));
    },
  };
}
