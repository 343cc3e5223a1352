/**
 * The audit log: what operators changed. Append-only, which triggers enforce.
 */

import { type AnyColumn, and, desc, eq, gte, lt, or, type SQL, sql } from 'drizzle-orm';
import { type AuditedChange, type ProofKind, proofKinds } from './column-values.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { preparedInsert } from './engine/prepared.ts';
import { createCounters, createMeta } from './meta.ts';
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

/** An act of which only the target is known. */
export type TargetedAct = OperatorAct & Readonly<{ target: string }>;

/** Which entries: texts that the person, and the command or its target, contain; times, `toMs` not included. */
export type AuditSearch = Readonly<{
  who: string | null;
  what: string | null;
  fromMs: number | null;
  toMs: number | null;
}>;

/** `by`: who ran the check. `about`: what it found, or where it was run, in words. */
export type InstallationProof = Readonly<{ kind: ProofKind; atMs: number; ok: boolean; by: string; about: string }>;

/** The newest proof, and the newest that failed after it. */
export type ProofState = Readonly<{ proved: InstallationProof | null; failed: InstallationProof | null }>;

/** Saves what an operator's command changed, within the current transaction. */
export type RecordAct = (act: OperatorAct, change: AuditedChange) => Promise<void>;

export function createAuditLog(db: Db): RecordAct {
  const insert = preparedInsert(db, auditLog);
  const nextNumber = createCounters(db);
  return async (act, change) => {
    await insert({ id: await nextNumber('audit_log'), ...act, ...change });
    db.describe('recorded');
  };
}

/**
 * Returns the same database for one command of an operator. What a write says that it changes, or else its first write
 * that changes something, is recorded as this act in the same transaction, unless the write records it itself.
 */
export function recordWrites(db: Db, { target, ...act }: TargetedAct): Db {
  const recordAct = createAuditLog(db);
  let described: AuditedChange | 'recorded' | null = null;
  let isRecorded = false;
  return {
    ...db,
    describe(change) {
      if (described !== 'recorded') described = change;
    },
    async write(work, options) {
      let hasChanged = false;
      const result = await db.write(async () => {
        described = null;
        const rows = db.changedRows();
        const done = await work();
        hasChanged = db.changedRows() !== rows;
        const change = described ?? (isRecorded ? 'recorded' : { target, before: null, after: null });
        if (hasChanged && change !== 'recorded') await recordAct(act, change);
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

/** Returns the condition that a column contains a text, in letters of any case. */
const contains = (column: SQL.Aliased | AnyColumn, text: string): SQL =>
  sql`replace(lower(${column}), lower(${text}), '') <> lower(${column})`;

type AuditPage = AuditSearch & Readonly<{ beforeId: number | null; limit: number; entriesMax: number }>;

export function auditCommands(db: Db) {
  const record = createAuditLog(db);
  const { id, atMs } = auditLog;
  const newest = [desc(atMs), desc(id)];

  async function search({ who, what, fromMs, toMs, beforeId, limit, entriesMax }: AuditPage) {
    const before = beforeId === null ? null : await db.orm.select().from(auditLog).where(eq(id, beforeId)).get();
    // An entry that is not there has none before it.
    if (before === undefined) return { entries: [], goOnId: null };
    const within = and(
      fromMs === null ? undefined : gte(atMs, fromMs),
      toMs === null ? undefined : lt(atMs, toMs),
      before ? sql`(${atMs}, ${id}) < (${before.atMs}, ${before.id})` : undefined,
    );
    const all = db.orm.select().from(auditLog).where(within);
    const looked = all
      .orderBy(...newest)
      .limit(entriesMax)
      .as('looked');
    const fits = and(
      who === null ? undefined : contains(looked.operator, who),
      what === null ? undefined : or(contains(looked.command, what), contains(looked.target, what)),
    );
    const fitting = db.orm.select().from(looked).where(fits).orderBy(desc(looked.atMs), desc(looked.id));
    const found = await fitting.limit(limit + 1).all();
    const entries = found.slice(0, limit);
    if (found.length > limit) return { entries, goOnId: entries.at(-1)?.id ?? null };
    const ids = db.orm.select({ id }).from(auditLog).where(within);
    const ordered = ids.orderBy(...newest).limit(2);
    const [last, next] = await ordered.offset(entriesMax - 1).all();
    return { entries, goOnId: next === undefined ? null : (last?.id ?? null) };
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
    /**
     * Returns the newest entries, newest first.
     * @param page `sinceMs`: none before this time; `beforeId`: only entries that are older than this one
     */
    async list(
      limit: number,
      { sinceMs = 0, beforeId = null }: Readonly<{ sinceMs?: number; beforeId?: number | null }> = {},
    ): Promise<readonly AuditEntry[]> {
      const all = { who: null, what: null, fromMs: sinceMs, toMs: null };
      return db.read(async () => (await search({ ...all, beforeId, limit, entriesMax: limit })).entries);
    },
  };
}

// ── Proofs about the installation ────────────────────────────────────────────────────────────────────────────────────
// Of each kind the newest, and a failure after it, are one value.

const nameOf = (kind: ProofKind): string => `proof_${kind}`;

export function proofCommands(db: Db) {
  const meta = createMeta(db);
  const stateOf = async (kind: ProofKind): Promise<ProofState> =>
    (await meta.readData<ProofState>(nameOf(kind))) ?? { proved: null, failed: null };

  async function add(proof: InstallationProof): Promise<void> {
    const state = proof.ok ? { proved: proof, failed: null } : { ...(await stateOf(proof.kind)), failed: proof };
    await meta.writeData(nameOf(proof.kind), state);
  }

  return {
    /** Saves what a check has found. */
    async recordProof(proof: InstallationProof): Promise<void> {
      await db.write(() => add(proof));
    },
    async latestProofs(): Promise<Readonly<Record<ProofKind, ProofState>>> {
      return db.read(
        async () =>
          Object.fromEntries(await mapInOrder(proofKinds, async (kind) => [kind, await stateOf(kind)])) as Record<
            ProofKind,
            ProofState
          >,
      );
    },
  };
}
