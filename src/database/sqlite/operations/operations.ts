/**
 * Operations: asked for by operators, done by the networks' indexers.
 * @module
 */
import { and, desc, eq, isNull, lt, sql } from 'drizzle-orm';
import {
  type AskOutcome,
  afterKill,
  KEPT_MAX,
  OPEN_MAX,
  type OperationResult,
  type OperationState,
  stateAt,
  WAIT_MS_MAX,
  whyNotRun,
} from '../../../core/operation.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { Operation, OperationDatabase, Worker } from '../../operations.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { atFirstUse, preparedInsert } from '../prepared.ts';
import { operations } from '../tables.ts';

type Row = typeof operations.$inferSelect;

const toOperation = ({ planId: _, runner: __, tries: ___, ...row }: Row, nowMs: number): Operation => ({
  ...row,
  state: stateAt(row.state, row.askedAtMs, nowMs),
});

export function operationCommands(db: Db, recordAct: RecordAct): OperationDatabase {
  const { orm, client } = db;
  const insert = preparedInsert(db, operations);
  const find = atFirstUse(
    orm
      .select()
      .from(operations)
      .where(eq(operations.id, sql.placeholder('id'))),
  );
  const open = atFirstUse(
    orm
      .select()
      .from(operations)
      .where(and(eq(operations.network, sql.placeholder('network')), isNull(operations.endedAtMs)))
      .orderBy(operations.id),
  );
  const findRun = client.prepare('SELECT 1 FROM operations WHERE plan_id = :planId');
  const forget = client.prepare(
    `DELETE FROM operations WHERE network = :network AND ended_at_ms IS NOT NULL AND id <
     (SELECT id FROM operations WHERE network = :network ORDER BY id DESC LIMIT 1 OFFSET ${KEPT_MAX - 1})`,
  );
  const set = (id: string, values: Partial<Row>) =>
    void orm.update(operations).set(values).where(eq(operations.id, id)).run();

  function end(row: Row, state: OperationState, result: OperationResult | null, nowMs: number): void {
    set(row.id, { state, result, endedAtMs: nowMs });
    const act = { atMs: nowMs, operator: row.askedBy, command: `operation ${row.wish.kind}`, reason: row.because };
    recordAct(act, { target: row.network, before: { operation: row.id }, after: { operation: row.id, state } });
  }

  /** Returns the operation if this process works on it. */
  function own({ id, runner }: Worker): Row | null {
    const row = find.get({ id });
    return row?.state === 'running' && row.runner === runner ? row : null;
  }

  /** Ends what nobody does any more. @returns what can be done, oldest first */
  function settleOpen(network: NetworkKey, runner: string, nowMs: number): Row[] {
    return open.all({ network }).flatMap((row) => {
      if (row.state === 'running') {
        if (row.runner === runner) return [];
        const next = afterKill(row.wish, row.tries);
        if (next === 'again') return row;
        end(row, 'failed', next, nowMs);
        return [];
      }
      if (nowMs < row.askedAtMs + WAIT_MS_MAX) return row;
      end(row, 'expired', null, nowMs);
      return [];
    });
  }

  return {
    async askOperation({ id, network, wish }, act) {
      return db.write((): AskOutcome => {
        if (find.get({ id })) return 'already';
        const waiting = open
          .all({ network })
          .filter(({ state, askedAtMs }) => stateAt(state, askedAtMs, act.atMs) !== 'expired');
        if (waiting.length >= OPEN_MAX) return 'too_many';
        const planId = wish.kind === 'sweep_run' ? wish.planId : null;
        if (planId !== null) {
          const refusal = whyNotRun(find.get({ id: planId }) ?? null, network, act.atMs);
          if (refusal) return refusal;
          if (findRun.get({ planId })) return 'plan_used';
        }
        forget.run({ network });
        const { operator: askedBy, reason: because, atMs: askedAtMs } = act;
        const unknown = { runner: null, startedAtMs: null, progress: null, result: null, endedAtMs: null };
        insert({ id, network, wish, planId, askedBy, because, askedAtMs, state: 'requested', tries: 0, ...unknown });
        recordAct(act, { target: network, before: null, after: { operation: id, ...wish } });
        return 'requested';
      });
    },
    async claimOperation(network, runner, nowMs) {
      // Asked once a second: only what is open takes the write lock.
      if ((await db.read(() => open.all({ network }))).length === 0) return null;
      return db.write(() => {
        const [row] = settleOpen(network, runner, nowMs);
        if (!row) return null;
        const running = { state: 'running', runner, tries: row.tries + 1, startedAtMs: nowMs, progress: null } as const;
        set(row.id, running);
        return toOperation({ ...row, ...running }, nowMs);
      });
    },
    async reportOperation(worker, progress) {
      return db.write(() => {
        const row = own(worker);
        if (row) set(row.id, { progress });
        return row !== null;
      });
    },
    async endOperation(worker, state, result) {
      return db.write(() => {
        const row = own(worker);
        if (row) end(row, state, result, worker.nowMs);
        return row !== null;
      });
    },
    async findOperation(id, nowMs) {
      return db.read(() => {
        const row = find.get({ id });
        return row ? toOperation(row, nowMs) : null;
      });
    },
    async listOperations({ network, before, limit }, nowMs) {
      const where = and(
        network === undefined ? undefined : eq(operations.network, network),
        before === undefined ? undefined : lt(operations.id, before),
      );
      const select = orm.select().from(operations).where(where).orderBy(desc(operations.id)).limit(limit);
      return db.read(() => select.all().map((row) => toOperation(row, nowMs)));
    },
  };
}
