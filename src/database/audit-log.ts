/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 */

import { and, desc, eq, gte, lt, sql } from 'drizzle-orm';
import type { AuditedChange } from './column-values.ts';
import { pageOf } from './engine/bodies.ts';
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

/** Which entries: texts that the person, and the command or its target, contain; times, `toMs` not included. */
export type AuditSearch = Readonly<{
  who: string | null;
  what: string | null;
  fromMs: number | null;
  toMs: number | null;
}>;

/** Saves what a person changed, within the current transaction; nothing where no person did it. */
export type RecordAct = (act: OperatorAct | undefined, change: AuditedChange) => Promise<void>;

export const recordActOf = perDatabase((db: Db): RecordAct => {
  const insert = preparedInsert(db, auditLog);
  const nextNumber = createCounters(db);
  return async (act, change) => {
    if (act) await insert({ id: await nextNumber('audit_log'), ...act, ...change });
  };
});

/** Whether one of the texts contains another one, in letters of any case; null is contained in all. */
const contains = (texts: readonly string[], part: string | null): boolean =>
  part === null || texts.some((text) => text.toLowerCase().includes(part.toLowerCase()));

type AuditPage = AuditSearch & Readonly<{ beforeId: number | null; limit: number; entriesMax: number }>;

export function auditCommands(db: Db) {
  const record = recordActOf(db);
  const { id, atMs } = auditLog;

  async function search({ who, what, fromMs, toMs, beforeId, limit, entriesMax }: AuditPage) {
    const before = beforeId === null ? null : await db.orm.select().from(auditLog).where(eq(id, beforeId)).get();
    // An entry that is not there has none before it.
    if (before === undefined) return { entries: [], goOnId: null };
    const within = and(
      fromMs === null ? undefined : gte(atMs, fromMs),
      toMs === null ? undefined : lt(atMs, toMs),
      before ? sql`(${atMs}, ${id}) < (${before.atMs}, ${before.id})` : undefined,
    );
    const lookMax = who === null && what === null ? limit : entriesMax;
    const newest = db.orm.select().from(auditLog).where(within).orderBy(desc(atMs), desc(id));
    const fits = ({ operator, command, target }: AuditEntry) =>
      contains([operator], who) && contains([command, target], what);
    const { rows, goOn } = pageOf(await newest.limit(lookMax + 1).all(), fits, { limit, lookMax });
    return { entries: rows, goOnId: goOn?.id ?? null };
  }

  return {
    /** Records what an operator's command changed outside the database, such as in the settings. */
    async record(act: OperatorAct, change: AuditedChange): Promise<void> {
      await db.write(() => record(act, change));
    },
    /**
     * Returns the newest entries that fit, newest first. It looks at `entriesMax` of the time that is asked for.
     * @returns `goOnId`: the `beforeId` of what follows; null at the end
     */
    async search(page: AuditPage): Promise<Readonly<{ entries: readonly AuditEntry[]; goOnId: number | null }>> {
      return db.read(() => search(page));
    },
    /** Returns the newest entries, newest first. */
    async list(limit: number): Promise<readonly AuditEntry[]> {
      const all = { who: null, what: null, fromMs: null, toMs: null, beforeId: null };
      return db.read(async () => (await search({ ...all, limit, entriesMax: limit })).entries);
    },
  };
}
