/**
 * Payouts: planning, waiting, canceling, and views of them. Commands that advance a payout name its generation. If a
 * merchant or an operator has acted meanwhile, the payout is no longer open in that generation. The commands then
 * change nothing, and return false.
 */
import { and, desc, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { isPayback, type PaybackIntent } from '../../core/intent.ts';
import { type Attempt, nextLookAtMs, type Payout } from '../../core/payout.ts';
import { LOCK_SET, resumed } from '../../core/payout-exit.ts';
import { isPassing, type Reason, reason } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { raiseAlarm } from '../alarms.ts';
import { isSameIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, findRow, findRows, haveValues, insertRow, perDatabase } from '../engine/rows.ts';
import { lockNetworkOf } from '../networks.ts';
import { payoutAttempts, payoutEngines, payouts, sweepParts } from '../tables.ts';
import { freezesOf, isAutomatic } from './holds.ts';
import { type EqualTransfer, outgoingRowsOf } from './wallets.ts';

export type PayoutRow = typeof payouts.$inferSelect;
export type AttemptRow = typeof payoutAttempts.$inferSelect;

/** A payout to make. A refund's payout has the refund's id and session. */
export type NewPayout = Pick<PayoutRow, 'intent' | 'sessionId' | 'servesId' | 'notBeforeMs'> &
  Readonly<{ nowMs: number }>;

export type PayoutName = Readonly<{ id: string; generation: number }>;

/** `before` limits the list to payouts older than this one. */
export type PayoutFilter = Partial<Pick<PayoutRow, 'network' | 'state' | 'kind'>> &
  Readonly<{ before?: Pick<Payout, 'id' | 'createdAtMs'>; limit: number }>;

/** Open payouts of a network that wait for the same reason. `code` is null if they wait for nothing. */
export type OpenPayouts = Readonly<{
  network: NetworkKey;
  code: string | null;
  count: number;
  oldestAtMs: number;
  /** The message of a fault that keeps one of them from advancing; null if there is none. */
  fault: string | null;
  /** The number of due refunds among them to which no engine gave a reason. */
  overdue: number;
  /** The due time of the first of them. */
  overdueSinceMs: number | null;
}>;

/**
 * The result of planning a payout. `known`: the signer's journal contained it, and it may have ended since. `other`: a
 * different intent was signed under this id.
 */
type Planned = Readonly<{ kind: 'planned' | 'known' | 'other'; payout: PayoutRow }>;

/** Columns that change during a payout's life. */
type Changing = Partial<
  Omit<PayoutRow, 'id' | 'kind' | 'network' | 'namedSession' | 'servesId' | 'createdAtMs' | 'updatedAtMs'>
>;

/** Time after which a refund checks whether its reason to wait has passed by itself. */
const PASSING_LOOK_MS = 5_000;

/** Reasons that an approval may end. */
const approvable: readonly string[] = ['signer_refused_approval', 'signer_refused_cap', 'refund_unapproved'];

export const noFault = { faultCode: null, faultMessage: null } as const;
/** The columns of an attempt that is not signed. */
export const unsigned = {
  tx: null,
  bytes: null,
  signedAtMs: null,
  sentAtMs: null,
  answerCode: null,
  answer: null,
  feeUnits: null,
} as const;

/** The columns of a payout that waits for nothing. */
export const noWait = { waitCode: null, waitMessage: null, ...noFault } as const;

export const payoutStepsOf = perDatabase((db: Db) => {
  const doubts = createDoubts(db);
  const attemptsOf = 'WHERE payout_id = :payoutId ORDER BY generation, attempt';
  /** Returns every attempt of a payout, in order. There are few. */
  const everyAttempt = (payoutId: string): Promise<AttemptRow[]> =>
    findRows(db, payoutAttempts, attemptsOf, { payoutId });
  const attempts = async ({ id, generation }: PayoutName): Promise<AttemptRow[]> =>
    (await everyAttempt(id)).filter((one) => one.generation === generation);
  const othersWait = db.client.prepare(
    `SELECT id FROM payouts
     WHERE network = :network AND state IN ('waiting', 'sent') AND wait_code = :waitCode AND id <> :id LIMIT 1`,
  );

  /** Updates the columns that change during a payout's life. */
  const change = async (row: PayoutRow, changes: Changing, nowMs: number): Promise<PayoutRow> => {
    const changed = { ...changes, updatedAtMs: nowMs };
    await changeRows(db, payouts, { id: row.id }, changed);
    return { ...row, ...changed };
  };

  /** Raises the alarm that a payout needs a person. */
  const report = async (row: PayoutRow, { code, message }: Reason, atMs: number): Promise<void> => {
    const { network, sessionId } = row;
    const name = await payoutName(db, row);
    await raiseAlarm(db, { atMs, code, message: `${name}: ${message}`, network, sessionId });
  };

  /**
   * Saves the reason for which a payout waits; null for none. A reason that is new on its network may raise an alarm.
   */
  const waitFor = async (row: PayoutRow, wait: Reason | null, changes: Changing, nowMs: number): Promise<void> => {
    const waitCode = wait?.code ?? null;
    const waitMessage = wait?.message ?? null;
    const isSame = row.waitCode === waitCode && row.waitMessage === waitMessage;
    if (!isSame || Object.keys(changes).length > 0) await change(row, { ...changes, waitCode, waitMessage }, nowMs);
    if (wait === null || row.waitCode === waitCode) return;
    const { network, id } = row;
    if (!(await othersWait.get({ network, id, waitCode }))) await report(row, wait, nowMs);
  };

  /** Returns a payout if no known attempt of it can take effect, or null. With `generationMax` 0 nothing was signed. */
  async function findUnsigned(id: string, generationMax: number): Promise<PayoutRow | null> {
    const row = await findRow(db, payouts, { id });
    if (!row || row.generation > generationMax) return null;
    // A stuck payout counts if the signer refused it for good, or all its signed attempts have failed.
    const isUnsigned = row.state === 'waiting' || resumed(row.state, (await attempts(row)).length) === 'waiting';
    return isUnsigned ? row : null;
  }

  const mayBePaid = async (row: PayoutRow): Promise<boolean> =>
    (await doubts.doubtUnseen(row)) !== null || (await doubts.unexplainedHold(row)) !== null;

  async function findEnded(id: string, generationMax: number): Promise<PayoutRow | null> {
    const row = await findUnsigned(id, generationMax);
    return row && !(await mayBePaid(row)) ? row : null;
  }

  return {
    ...doubts,
    find: (id: string): Promise<PayoutRow | undefined> => findRow(db, payouts, { id }),
    /**
     * Saves a payout. An existing one stays as it is, except that a refund or return without a session gets its
     * session.
     * @param poolId the pool of a sweep's indexes; absent if only the signer's journal knows the sweep
     */
    async plan(input: NewPayout, poolId?: number): Promise<Planned> {
      const { intent, sessionId, nowMs } = input;
      const known = await findRow(db, payouts, { id: intent.id });
      if (known) {
        if (!isSameIntent(known.intent, intent)) return { kind: 'other', payout: known };
        const isTied = sessionId === null || known.sessionId !== null;
        return { kind: 'known', payout: isTied ? known : await change(known, { sessionId }, nowMs) };
      }
      const row = newRow(input);
      await insertRow(db, payouts, row);
      if (intent.kind === 'sweep') {
        const { id: payoutId, network, currency } = intent;
        for (const { index, units } of intent.from) {
          await insertRow(db, sweepParts, {
            payoutId,
            network,
            derivationIndex: index,
            currency,
            poolId: poolId ?? null,
            units,
          });
        }
      }
      return { kind: 'planned', payout: row };
    },
    /**
     * Cancels a payout if none of its attempts can take effect. Returns false otherwise. No attempt may be allotted,
     * and those of earlier generations must have provably ended.
     * @param generationMax 0 for a payout that was never signed
     */
    async cancel(id: string, nowMs: number, generationMax = Number.POSITIVE_INFINITY): Promise<boolean> {
      const row = await findEnded(id, generationMax);
      if (row) await change(row, { state: 'canceled', ...noWait, settledAtMs: nowMs }, nowMs);
      return row !== null;
    },
    /** Returns whether a payout would be canceled but for an unknown transaction that may have paid it. */
    async isInDoubt(id: string, generationMax: number): Promise<boolean> {
      const row = await findUnsigned(id, generationMax);
      return row !== null && (await mayBePaid(row));
    },
    /** Gives a refund's payout another payee. Returns false once an attempt is allotted or it has ended. */
    async redirect(intent: PaybackIntent, notBeforeMs: number, nowMs: number): Promise<boolean> {
      const row = await findEnded(intent.id, 0);
      if (row) await change(row, { intent, state: 'waiting', ...noWait, notBeforeMs }, nowMs);
      return row !== null;
    },
    /** Makes a payout due now if it waits for an approval or the signer's cap. */
    async hasten(id: string, nowMs: number): Promise<void> {
      const row = await findRow(db, payouts, { id });
      const isRefused = row?.waitCode && approvable.includes(row.waitCode);
      if (row?.state === 'waiting' && isRefused) await change(row, { notBeforeMs: nowMs }, nowMs);
    },
    change,
    report,
    waitFor,
    /** Makes a refund wait for a gate's reason. A reason that passes by itself raises no alarm. */
    async hold(row: PayoutRow, hold: Reason, nowMs: number): Promise<void> {
      const waits = { waitCode: hold.code, waitMessage: hold.message };
      // Such reasons pass within minutes, and an old refund must not wait much longer than that.
      if (isPassing(hold.code)) await change(row, { ...waits, notBeforeMs: nowMs + PASSING_LOOK_MS }, nowMs);
      else await waitFor(row, hold, { notBeforeMs: Math.round(nextLookAtMs(row, nowMs)) }, nowMs);
    },
    /** Calls `work` with a payout that is open in this generation. Returns false when there is none. */
    async ifOpen({ id, generation }: PayoutName, work: (row: PayoutRow) => Promise<void>): Promise<boolean> {
      await lockNetworkOf(db, id);
      const row = await findRow(db, payouts, { id });
      const isOpen = row?.state === 'waiting' || row?.state === 'sent';
      if (!row || !isOpen || row.generation !== generation) return false;
      await work(row);
      return true;
    },
    attempts,
    everyAttempt,
  };
});

const newRow = ({ intent, sessionId, servesId, notBeforeMs, nowMs }: NewPayout): PayoutRow => ({
  id: intent.id,
  kind: intent.kind,
  network: intent.network,
  intent,
  sessionId,
  namedSession: isPayback(intent) ? intent.session.id : null,
  servesId,
  state: 'waiting',
  generation: 0,
  proof: null,
  ...noWait,
  notBeforeMs,
  tx: null,
  feeUnits: null,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  settledAtMs: null,
});

export function payoutCommands(db: Db) {
  const { orm, read, write } = db;
  const steps = payoutStepsOf(db);
  const counted = db.client.prepare<OpenPayouts>(countedQuery);

  return {
    /** Plans all payouts or none. An existing one with the same intent stays as it is. */
    async plan(inputs: readonly NewPayout[]): Promise<void> {
      await write(async () => {
        for (const input of inputs) {
          invariant((await steps.plan(input)).kind !== 'other', `payout ${input.intent.id} keeps its intent`);
        }
      });
    },
    /**
     * Cancels a payout. Returns false once an attempt is allotted, it has ended, or signatures must be adopted first.
     */
    async cancel(id: string, nowMs: number): Promise<boolean> {
      return write(async () => {
        await lockNetworkOf(db, id);
        return steps.cancel(id, nowMs);
      });
    },
    /**
     * Returns why an unknown transaction may have paid a payout, which is then not canceled, rejected or ended as never
     * paid. Returns null if that is excluded, or if the only reason is a single transfer.
     */
    async doubt(id: string): Promise<Reason | null> {
      return read(async () => {
        const row = await steps.find(id);
        return row ? await steps.doubtUnseen(row) : null;
      });
    },
    /** Returns the transfers, oldest first, that may have paid a refund; see `Doubts.equalTo`. */
    async equalTo(id: string): Promise<readonly EqualTransfer[]> {
      return read(async () => {
        const row = await steps.find(id);
        return row ? await steps.equalTo(row) : [];
      });
    },
    /**
     * Saves the reason for which a payout waits, null for none, and raises an alarm if it is new and may need a person.
     */
    async recordWait({
      wait,
      nextLookAtMs: lookAtMs,
      nowMs,
      ...name
    }: PayoutName & Readonly<{ wait: Reason | null; nextLookAtMs: number; nowMs: number }>): Promise<boolean> {
      const changes = { notBeforeMs: Math.round(lookAtMs) };
      return write(() => steps.ifOpen(name, (row) => steps.waitFor(row, wait, changes, nowMs)));
    },
    /**
     * Saves the fault that keeps the engine from advancing a payout now, or null once it is over. The payout's wait and
     * its due time stay. Every command that advances or ends the payout removes the fault.
     */
    async recordFault({
      fault,
      nowMs,
      ...name
    }: PayoutName & Readonly<{ fault: Reason | null; nowMs: number }>): Promise<boolean> {
      const changes = { faultCode: fault?.code ?? null, faultMessage: fault?.message ?? null };
      return write(() =>
        steps.ifOpen(name, async (row) => {
          await steps.change(row, changes, nowMs);
        }),
      );
    },
    async find(id: string): Promise<Payout | null> {
      const row = await read(() => steps.find(id));
      return row ? toPayout(row) : null;
    },
    async list({ before, limit, ...values }: PayoutFilter): Promise<readonly Payout[]> {
      const wanted = and(
        haveValues(payouts, values),
        before && sql`(${payouts.createdAtMs}, ${payouts.id}) < (${before.createdAtMs}, ${before.id})`,
      );
      const all = orm.select().from(payouts).where(wanted);
      const newest = all.orderBy(desc(payouts.createdAtMs), desc(payouts.id)).limit(limit);
      return (await read(() => newest.all())).map(toPayout);
    },
    /** Returns every attempt of a payout, in order. */
    async attempts(id: string): Promise<readonly Attempt[]> {
      return (await read(() => steps.everyAttempt(id))).map(toAttempt);
    },
    /** Counts the open payouts by network and reason to wait. */
    async countOpen(nowMs: number): Promise<readonly OpenPayouts[]> {
      return read(() => counted.all({ nowMs }));
    },
  };
}

const isOverdue = `state <> 'stuck' AND kind IN ('refund', 'return') AND wait_code IS NULL AND not_before_ms < :nowMs`;

/** SQL for the counts. Its codes are those of `delayOf` in core. */
const countedQuery = `
  SELECT network, coalesce(fault_code, wait_code) AS code, count(*) AS count, min(created_at_ms) AS "oldestAtMs",
    min(fault_message) AS fault, count(*) FILTER (WHERE ${isOverdue}) AS overdue,
    min(not_before_ms) FILTER (WHERE ${isOverdue}) AS "overdueSinceMs"
  FROM payouts WHERE state IN ('waiting', 'sent', 'stuck')
  GROUP BY network, coalesce(fault_code, wait_code) ORDER BY network, coalesce(coalesce(fault_code, wait_code), '')`;

// ── Doubts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
// A transaction that this database does not know may have paid a payout. Only without any doubt is a payout canceled,
// given another payee, or ended as never paid.

type Intended = Pick<PayoutRow, 'intent'>;

/** The code of the reason why an engine does nothing after the database was restored from a backup. */
const NOT_ADOPTED = 'payouts_not_adopted';

function createDoubts(db: Db) {
  /**
   * Returns why a network may have payments or signatures that this database does not know; null if that is excluded.
   * Freezes by the program are such reasons, and freezes by operators are not.
   */
  async function doubtOf({ network }: Pick<PayoutRow, 'network'>): Promise<Reason | null> {
    const { reason: stop, settlingUntilMs = null } = (await findRow(db, payoutEngines, { network })) ?? {};
    if (stop?.code === NOT_ADOPTED) return stop;
    if (settlingUntilMs !== null)
      return reason('payouts_settling', { network, until: 'its engine has read the chain' });
    const freeze = (await freezesOf(db, network)).find(isAutomatic);
    return freeze ? { code: freeze.code, message: freeze.reason } : null;
  }

  /** Returns transfers that may have paid a refund. No attempt explains them, and no person has ruled them out. */
  const equalTo = async ({ intent }: Intended): Promise<readonly EqualTransfer[]> =>
    isPayback(intent) ? await outgoingRowsOf(db).equalTo(intent) : [];

  return {
    doubtOf,
    equalTo,
    /** Returns whether a network is settling in after a gap. */
    isSettling: async (network: NetworkKey): Promise<boolean> =>
      ((await findRow(db, payoutEngines, { network }))?.settlingUntilMs ?? null) !== null,
    /** Like `doubtOf`, but also counts a lock on the chain, because the nodes are not asked before this end. */
    async doubtUnseen(row: PayoutRow): Promise<Reason | null> {
      const { waitCode, waitMessage } = row;
      return (await doubtOf(row)) ?? (waitCode === LOCK_SET ? { code: LOCK_SET, message: waitMessage ?? '' } : null);
    },
    /** Returns the reason to neither pay nor end a refund, if a transfer that no attempt explains may have paid it. */
    async unexplainedHold(row: Intended): Promise<Reason | null> {
      const equal = await equalTo(row);
      if (equal.some(({ state }) => state !== 'known')) return reason('refund_maybe_paid');
      const [first] = equal;
      // The transfer may be this refund, lost by a restore, or another payment of the same amount.
      return first ? reason('refund_equals_transfer', { id: row.intent.id, tx: first.tx }) : null;
    },
  };
}

// ── Names and rows for people and core ──────────────────────────────────────────────────────────────────────────────

/** Returns a payout's readable name, such as "The refund of 4.50 USDT for order 17 of Corner shop (rf_…)". */
async function payoutName({ client }: Db, { id, intent }: Pick<PayoutRow, 'id' | 'intent'>): Promise<string> {
  if (intent.kind === 'sweep') return `The sweep of ${intent.currency} on ${intent.network} (${id})`;
  if (intent.kind === 'gas') return `The gas for a wallet on ${intent.network} (${id})`;
  const orderOf = client.prepare<Readonly<{ order: string; store: string }>>(
    `SELECT s.order_id AS "order", o.name AS store FROM sessions AS s JOIN stores AS o ON o.id = s.store_id WHERE s.id = ?`,
  );
  const { kind, currency, session } = intent;
  const of = await orderOf.get(session.id);
  return `The ${kind} of ${session.amount} ${currency}${of ? ` for order ${of.order} of ${of.store}` : ''} (${id})`;
}

export function toPayout(stored: PayoutRow): Payout {
  const { kind: _, waitCode, waitMessage, faultCode, faultMessage, ...payout } = stored;
  return { ...payout, wait: toReason(waitCode, waitMessage), fault: toReason(faultCode, faultMessage) };
}

const toReason = (code: string | null, message: string | null): Reason | null =>
  code === null || message === null ? null : { code, message };

export function toAttempt({ payoutId: _, network: __, bytes, ...row }: AttemptRow): Attempt {
  return { ...row, bytes: bytes && new Uint8Array(bytes) };
}
