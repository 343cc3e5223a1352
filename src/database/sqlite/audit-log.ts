/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 */
import { type AnyColumn, and, desc, eq, gte, lt, or, type SQL, sql } from 'drizzle-orm';
import type { Audit, AuditedChange, OperatorAct, TargetedAct } from '../audit-log.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { auditLog } from './tables.ts';

/** Saves what an operator's command changed, within the current transaction. */
export type RecordAct = (act: OperatorAct, change: AuditedChange) => void;

export function createAuditLog(db: Db): RecordAct {
  const insert = preparedInsert(db, auditLog, ['id']);
  return (act, change) => void insert({ ...act, ...change });
}

/**
 * Returns the same database for one command of an operator. What a write says that it changes, or else its first write
 * that changes something, is recorded as this act in the same transaction, unless the write records it itself.
 */
export function recordWrites(db: Db, { target, ...act }: TargetedAct): Db {
  const recordAct = createAuditLog(db);
  const changedRows = db.client.prepare('SELECT total_changes()').pluck();
  const newestEntry = db.client.prepare('SELECT max(id) FROM audit_log').pluck();
  let described: AuditedChange | null = null;
  let isRecorded = false;
  return {
    ...db,
    describe(change) {
      described = change;
    },
    async write(work, options) {
      let hasChanged = false;
      const result = await db.write(() => {
        described = null;
        const [rows, newest] = [changedRows.get(), newestEntry.get()];
        const done = work();
        hasChanged = changedRows.get() !== rows;
        const isWanted = hasChanged && (described !== null || !isRecorded);
        if (isWanted && newestEntry.get() === newest)
          recordAct(act, described ?? { target, before: null, after: null });
        return done;
      }, options);
      isRecorded ||= hasChanged;
      return result;
    },
  };
}

type RecordAs<Whole> = <T>(act: TargetedAct, work: (database: Whole) => Promise<T>) => Promise<T>;

/** @param assemble returns the commands over a connection; called once, when the first act is recorded */
export function createRecordAs<Whole>(db: Db, assemble: (db: Db) => Whole): RecordAs<Whole> {
  let recorded: Db = db;
  let whole: Whole | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const forwarding: Db = {
    ...db,
    describe: (change) => recorded.describe(change),
    write: (work, options) => recorded.write(work, options),
  };
  return (act, work) => {
    const done = last.then(() => {
      whole ??= assemble(forwarding);
      recorded = recordWrites(db, act);
      return work(whole);
    });
    last = done.catch(() => {});
    return done;
  };
}

/** Whether a column contains a text, whatever the case of its letters. */
const contains = (column: SQL.Aliased | AnyColumn, text: string): SQL =>
  sql`instr(lower(${column}), lower(${text})) > 0`;

export function auditCommands(db: Db): Pick<Audit, 'record' | 'list' | 'search'> {
  const record = createAuditLog(db);
  return {
    async record(act, change) {
      await db.write(() => record(act, change));
    },
    async search({ who, what, fromMs, toMs, beforeId, limit, entriesMax }) {
      const { id, atMs } = auditLog;
      return db.read(() => {
        const before = beforeId === null ? null : db.orm.select().from(auditLog).where(eq(id, beforeId)).get();
        if (before === undefined) return { entries: [], goOnId: null };
        const within = and(
          fromMs === null ? undefined : gte(atMs, fromMs),
          toMs === null ? undefined : lt(atMs, toMs),
          before ? sql`(${atMs}, ${id}) < (${before.atMs}, ${before.id})` : undefined,
        );
        const order = [desc(atMs), desc(id)];
        const looked = db.orm
          .select()
          .from(auditLog)
          .where(within)
          .orderBy(...order)
          .limit(entriesMax)
          .as('looked');
        const fits = and(
          who === null ? undefined : contains(looked.operator, who),
          what === null ? undefined : or(contains(looked.command, what), contains(looked.target, what)),
        );
        const newest = [desc(looked.atMs), desc(looked.id)];
        const found = db.orm
          .select()
          .from(looked)
          .where(fits)
          .orderBy(...newest)
          .limit(limit + 1)
          .all();
        const entries = found.slice(0, limit);
        if (found.length > limit) return { entries, goOnId: entries.at(-1)?.id ?? null };
        const ids = db.orm
          .select({ id })
          .from(auditLog)
          .where(within)
          .orderBy(...order);
        const [last, next] = ids
          .limit(2)
          .offset(entriesMax - 1)
          .all();
        return { entries, goOnId: next === undefined ? null : (last?.id ?? null) };
      });
    },
    async list(limit, { sinceMs = 0, beforeId } = {}) {
      const { id, atMs } = auditLog;
      return db.read(() => {
        const before = beforeId === undefined ? null : db.orm.select().from(auditLog).where(eq(id, beforeId)).get();
        // An entry that is not there has none before it.
        if (before === undefined) return [];
        const isOlder = before ? sql`(${atMs}, ${id}) < (${before.atMs}, ${before.id})` : undefined;
        const where = and(gte(atMs, sinceMs), isOlder);
        return db.orm.select().from(auditLog).where(where).orderBy(desc(atMs), desc(id)).limit(limit).all();
      });
    },
  };
}
