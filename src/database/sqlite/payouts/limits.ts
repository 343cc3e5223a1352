/**
 * What was paid out of each store and network, in running sums, and the limits on it.
 * @module
 */
import { and, asc, eq, gte, sql } from 'drizzle-orm';
import { isPayback } from '../../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS } from '../../../core/money.ts';
import {
  holdText,
  judgeLimit,
  limitText,
  noLimit,
  type PayoutLimit,
  type SpentStep,
  spentSince,
  stepOf,
  sumSpent,
} from '../../../core/payout-limit.ts';
import { type Mode, modeOf, type NetworkKey } from '../../../core/transfer.ts';
import type { LimitScope, LimitState, PayoutLimitDatabase } from '../../payout-limits.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { atFirstUse, laterValues, preparedInsert } from '../prepared.ts';
import type { RefundHold } from './refund-holds.ts';
import { type PayoutRow, payoutLimits, payoutSpendSteps, payoutSpends } from './schema.ts';

/** An alarm about the same limit is raised again after this time at the earliest. */
const ALARM_MS = 3_600_000;
const modes: readonly Mode[] = ['live', 'test'];

/** Whose limit a payout counts against besides its network's, and with how much. */
export type Spender = Readonly<{ storeId: string | null; amountMinor: bigint }>;

/** To be called within a transaction. */
export type PayoutSpends = Readonly<{
  /** Counts a refund or return, unless it is counted already. */
  add(payout: PayoutRow, atMs: number): void;
  /** Takes back what was counted for an attempt that was never signed. */
  remove(payoutId: string): void;
  /** Returns why a refund or return must wait for a limit, or null. */
  holdOf(payout: PayoutRow, nowMs: number): RefundHold | null;
}>;

type SpendRow = typeof payoutSpends.$inferSelect;

const nameOf = (scope: LimitScope): string =>
  'storeId' in scope ? `store:${scope.storeId}` : `network:${scope.network}`;

function scopeOf(name: string): LimitScope {
  const id = name.slice(name.indexOf(':') + 1);
  return name.startsWith('store:') ? { storeId: id } : { network: id as NetworkKey };
}

/** Where the steps of a store's mode are added up; those of a network are under its limit's name. */
const storeSteps = (storeId: string, mode: Mode): string => `store:${storeId}:${mode}`;

function stepsOf({ network, storeId }: Pick<SpendRow, 'network' | 'storeId'>): string[] {
  const own = storeId === null ? [] : [storeSteps(storeId, modeOf(network))];
  return [`network:${network}`, ...own];
}

function stepStatements(db: Db) {
  const { scope, atMs } = payoutSpendSteps;
  const isStep = and(eq(scope, sql.placeholder('scope')), eq(atMs, sql.placeholder('atMs')));
  const find = atFirstUse(db.orm.select().from(payoutSpendSteps).where(isStep));
  const insert = preparedInsert(db, payoutSpendSteps);
  const update = atFirstUse(
    db.orm
      .update(payoutSpendSteps)
      .set(laterValues(payoutSpendSteps, ['amountMinor', 'count']))
      .where(isStep),
  );
  const since = atFirstUse(
    db.orm
      .select()
      .from(payoutSpendSteps)
      .where(and(eq(scope, sql.placeholder('scope')), gte(atMs, sql.placeholder('fromMs'))))
      .orderBy(asc(atMs)),
  );
  return {
    change({ amountMinor, ...row }: SpendRow, sign: 1 | -1): void {
      for (const name of stepsOf(row)) {
        const at = { scope: name, atMs: stepOf(row.atMs) };
        const known = find.get(at);
        const sum = {
          amountMinor: (known?.amountMinor ?? 0n) + BigInt(sign) * amountMinor,
          count: (known?.count ?? 0) + sign,
        };
        if (known) update.run({ ...at, ...sum });
        else insert({ ...at, ...sum });
      }
    },
    read: (name: string, nowMs: number): SpentStep[] => since.all({ scope: name, fromMs: spentSince(nowMs) }),
  };
}

type Parts = Readonly<{
  raiseAlarm: RaiseAlarm;
  /** Returns null for a payout whose refund and session are not known here. */
  spenderOf(payout: PayoutRow): Spender | null;
  /** Returns whether an approver's signature orders a refund. */
  isOrdered(id: string, nowMs: number): boolean;
}>;

export function createPayoutSpends(db: Db, { raiseAlarm, spenderOf, isOrdered }: Parts): PayoutSpends {
  const steps = stepStatements(db);
  const isPayout = eq(payoutSpends.payoutId, sql.placeholder('payoutId'));
  const find = atFirstUse(db.orm.select().from(payoutSpends).where(isPayout));
  const drop = atFirstUse(db.orm.delete(payoutSpends).where(isPayout));
  const insert = preparedInsert(db, payoutSpends);
  const findLimit = atFirstUse(
    db.orm
      .select()
      .from(payoutLimits)
      .where(eq(payoutLimits.scope, sql.placeholder('scope'))),
  );
  const setAlarmed = atFirstUse(
    db.orm
      .update(payoutLimits)
      .set(laterValues(payoutLimits, ['alarmedAtMs']))
      .where(eq(payoutLimits.scope, sql.placeholder('scope'))),
  );

  function spendOf(payout: PayoutRow, atMs: number): SpendRow {
    const { storeId, amountMinor } = spenderOf(payout) ?? { storeId: null, amountMinor: 0n };
    return { payoutId: payout.id, network: payout.network, storeId, amountMinor, atMs };
  }

  function judge(scope: LimitScope, stepsName: string, spend: SpendRow): RefundHold | null {
    const { atMs: nowMs, amountMinor, network, payoutId } = spend;
    const limit = findLimit.get({ scope: nameOf(scope) });
    if (!limit) return null;
    const spent = steps.read(stepsName, nowMs);
    const hold = judgeLimit(limit, spent, amountMinor, nowMs);
    if (!hold) return null;
    const isStore = 'storeId' in scope;
    const [title, option] = isStore
      ? [`store ${scope.storeId}`, `--store ${scope.storeId}`]
      : [scope.network, scope.network];
    const used = limitText(limit, sumSpent(spent, nowMs), hold.period);
    const code = isStore ? 'payout_limit_store' : 'payout_limit_network';
    const message = holdText(title, option, hold, amountMinor, used);
    const alarmedMs = limit.alarmedAtMs;
    if (alarmedMs === null || alarmedMs > nowMs || nowMs - alarmedMs >= ALARM_MS) {
      setAlarmed.run({ scope: limit.scope, alarmedAtMs: nowMs });
      // Without a session: whose limit it is, is the operator's affair.
      raiseAlarm({ atMs: nowMs, code, message: `Payout ${payoutId}: ${message}`, network, sessionId: null });
    }
    return { code, message, passes: true, untilMs: hold.untilMs };
  }

  return {
    add(payout, atMs) {
      if (!isPayback(payout.intent) || find.get({ payoutId: payout.id })) return;
      const row = spendOf(payout, atMs);
      insert(row);
      steps.change(row, 1);
    },
    remove(payoutId) {
      const row = find.get({ payoutId });
      if (!row) return;
      drop.run({ payoutId });
      steps.change(row, -1);
    },
    holdOf(payout, nowMs) {
      if (find.get({ payoutId: payout.id }) || isOrdered(payout.id, nowMs)) return null;
      const spend = spendOf(payout, nowMs);
      const { network, storeId } = spend;
      const own = storeId === null ? null : judge({ storeId }, storeSteps(storeId, modeOf(network)), spend);
      return own ?? judge({ network }, `network:${network}`, spend);
    },
  };
}

export function payoutLimitCommands(db: Db, recordAct: RecordAct): PayoutLimitDatabase {
  const { orm } = db;
  const steps = stepStatements(db);
  const find = (name: string) => orm.select().from(payoutLimits).where(eq(payoutLimits.scope, name)).get();

  function limitOf(name: string): PayoutLimit {
    const row = find(name);
    if (!row) return noLimit;
    const { scope: _scope, alarmedAtMs: _alarmedAtMs, ...limit } = row;
    return limit;
  }

  function state(scope: LimitScope, nowMs: number): LimitState {
    const spentIn = (mode: Mode, name: string) => ({ mode, ...sumSpent(steps.read(name, nowMs), nowMs) });
    const spent =
      'storeId' in scope
        ? modes.map((mode) => spentIn(mode, storeSteps(scope.storeId, mode)))
        : [spentIn(modeOf(scope.network), nameOf(scope))];
    return { scope, limit: limitOf(nameOf(scope)), spent };
  }

  return {
    async payoutLimit(scope, nowMs) {
      return db.read(() => state(scope, nowMs));
    },
    async listPayoutLimits(nowMs) {
      return db.read(() => {
        const rows = orm
          .select({ scope: payoutLimits.scope })
          .from(payoutLimits)
          .orderBy(asc(payoutLimits.scope))
          .all();
        return rows.map(({ scope }) => state(scopeOf(scope), nowMs));
      });
    },
    async setPayoutLimit(scope, changes, act) {
      await db.write(() => {
        const name = nameOf(scope);
        const before = limitOf(name);
        const after = { ...before, ...changes };
        // An alarm about the limit of before says nothing about this one.
        const row = { ...after, alarmedAtMs: null };
        if (Object.values(after).every((one) => one === null)) {
          orm.delete(payoutLimits).where(eq(payoutLimits.scope, name)).run();
        } else {
          const saved = { scope: name, ...row };
          orm.insert(payoutLimits).values(saved).onConflictDoUpdate({ target: payoutLimits.scope, set: row }).run();
        }
        recordAct(act, { target: name, before: audited(before), after: audited(after) });
      });
    },
  };
}

const amountText = (minor: bigint | null): string | null =>
  minor === null ? null : formatUnits(minor, MINOR_DECIMALS, MINOR_DECIMALS);

const audited = ({ hourMinor, dayMinor, ...counts }: PayoutLimit) => ({
  hour: amountText(hourMinor),
  day: amountText(dayMinor),
  ...counts,
});

/** @returns one line for each sum that differs from what was counted */
export function auditPayoutSpends({ orm }: Db): string[] {
  const expected = new Map<string, Readonly<{ minor: bigint; count: number }>>();
  for (const row of orm.select().from(payoutSpends).all()) {
    for (const name of stepsOf(row)) {
      const key = `${name} from ${stepOf(row.atMs)}`;
      const { minor, count } = expected.get(key) ?? { minor: 0n, count: 0 };
      expected.set(key, { minor: minor + row.amountMinor, count: count + 1 });
    }
  }
  const kept = new Map<string, Readonly<{ minor: bigint; count: number }>>();
  for (const { scope, atMs, amountMinor: minor, count } of orm.select().from(payoutSpendSteps).all()) {
    if (count !== 0 || minor !== 0n) kept.set(`${scope} from ${atMs}`, { minor, count });
  }
  const text = (sum?: Readonly<{ minor: bigint; count: number }>) =>
    `${sum?.minor ?? 0n} in ${sum?.count ?? 0} payouts`;
  return [...new Set([...expected.keys(), ...kept.keys()])]
    .filter((key) => text(expected.get(key)) !== text(kept.get(key)))
    .map((key) => `paid out of ${key}: the sum says ${text(kept.get(key))}, the payouts ${text(expected.get(key))}`);
}
