/**
 * Freezes of money out, of one network or of all.
 */
import { and, asc, eq, inArray, not, or, sql } from 'drizzle-orm';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { OperatorAct, RecordAct } from '../../audit-log.ts';
import type { Db } from '../../engine/open.ts';
import { atFirstUse } from '../../engine/prepared.ts';
import { type Freeze, type FreezeDatabase, OUTFLOW_FOREIGN } from '../../freezes.ts';
import type { RowGuard } from '../../row-macs.ts';
import { outgoingTransfers, payoutAttempts, payoutFreezes } from '../../tables.ts';
import { createOutgoingCheck, macedOutgoing } from './outgoing.ts';

/** Who acts in the audit log when the program freezes money out. */
export const PROGRAM = 'quayside';
/** Why a network is frozen where a wallet has made transactions that are not known here. */
export const NONCE_FOREIGN = 'payout_nonce_foreign';
/** Why a network is frozen where the row of such a transfer was altered. */
export const ROW_ALTERED = 'row_altered';
/** Why a network is frozen whose skipped blocks may hold payments that are not known here. */
export const BLOCKS_UNSEARCHED = 'blocks_unsearched';
/** Stands for every network in the table. */
const EVERYWHERE = '' as const;

type FreezeRow = typeof payoutFreezes.$inferSelect;

/** Reads the freezes that apply to a network, those of every network first, within the current transaction. */
export type FreezesOf = (network: NetworkKey) => readonly Freeze[];

const inOrder = [asc(payoutFreezes.network), asc(payoutFreezes.sinceMs), asc(payoutFreezes.code)] as const;

const toFreeze = ({ network, ...row }: FreezeRow): Freeze => ({
  ...row,
  network: network === EVERYWHERE ? null : network,
});
const audited = ({ code, reason, frozenBy, sinceMs }: Freeze) => ({ code, reason, frozenBy, sinceMs });
const nameOf = (network: NetworkKey | null): string => network ?? 'every network';

export function createFreezeReader({ orm }: Db): FreezesOf {
  const select = atFirstUse(
    orm
      .select()
      .from(payoutFreezes)
      .where(or(eq(payoutFreezes.network, sql`''`), eq(payoutFreezes.network, sql.placeholder('network'))))
      .orderBy(...inOrder),
  );
  return (network) => select.all({ network }).map(toFreeze);
}

/** Freezes money out within the current transaction. @returns false when it was frozen before for the same cause */
export type Freezer = Readonly<{
  freeze(...[freeze, act]: Parameters<FreezeDatabase['freezePayouts']>): boolean;
  byProgram(network: NetworkKey, code: string, reason: string, nowMs: number): boolean;
  /** The same for a cause that may come again: whoever saw the freeze before has not seen this. */
  again(network: NetworkKey, code: string, reason: string, nowMs: number): void;
}>;

export function createFreezer({ orm }: Db, recordAct: RecordAct): Freezer {
  const freeze: Freezer['freeze'] = (one, act) => {
    const row = { ...one, network: one.network ?? EVERYWHERE };
    const isNew = orm.insert(payoutFreezes).values(row).onConflictDoNothing().run().changes > 0;
    if (isNew && act) recordAct(act, { target: nameOf(one.network), before: null, after: audited(one) });
    return isNew;
  };
  const byProgram: Freezer['byProgram'] = (network, code, reason, nowMs) => {
    const act = { atMs: nowMs, operator: PROGRAM, command: 'payout freeze', reason };
    return freeze({ network, code, reason, frozenBy: PROGRAM, sinceMs: nowMs }, act);
  };
  return {
    freeze,
    byProgram,
    again(network, code, reason, nowMs) {
      if (byProgram(network, code, reason, nowMs)) return;
      const isIt = and(eq(payoutFreezes.network, network), eq(payoutFreezes.code, code));
      const both = sql`${payoutFreezes.reason} || '; ' || ${reason}`;
      orm.update(payoutFreezes).set({ reason: both, sinceMs: nowMs }).where(isIt).run();
    },
  };
}

/** Judged transfers out of our wallets that no attempt explains. */
export const isUnexplained = sql`NOT EXISTS (SELECT 1 FROM ${payoutAttempts} AS a WHERE a.tx = ${outgoingTransfers.tx})`;

export function freezeCommands(
  db: Db,
  {
    guard,
    freezesOf,
    freezer,
    recordAct,
  }: Readonly<{ guard: RowGuard; freezesOf: FreezesOf; freezer: Freezer; recordAct: RecordAct }>,
): FreezeDatabase {
  const { orm } = db;
  const check = createOutgoingCheck(guard);
  // Prepared, because each engine reads it in each round.
  const all = atFirstUse(
    orm
      .select()
      .from(payoutFreezes)
      .orderBy(...inOrder),
  );
  const { id: rowId, network: ofNetwork, state } = outgoingTransfers;
  const isForeignOf = (network: NetworkKey) => and(eq(ofNetwork, network), eq(state, 'foreign'));

  /**
   * Forgets what attempts explain by now, and keeps the rest as known: a refund that equals it asks first.
   * @returns the transactions of the transfers that were shown
   */
  function acknowledge(network: NetworkKey, transfers: readonly number[]): string[] {
    orm
      .delete(outgoingTransfers)
      .where(and(isForeignOf(network), not(isUnexplained)))
      .run();
    const isShown = and(isForeignOf(network), inArray(rowId, [...transfers]));
    const rows = orm.select().from(outgoingTransfers).where(isShown).all().filter(check.isOutgoing);
    for (const row of rows) {
      const known = { ...row, state: 'known' } as const;
      const set = { state: known.state, mac: guard.seal(macedOutgoing(known)) };
      orm.update(outgoingTransfers).set(set).where(eq(rowId, row.id)).run();
    }
    return rows.map(({ tx }) => tx);
  }

  /** Rows that were altered say nothing. */
  function deleteAltered(network: NetworkKey): void {
    const isJudged = and(eq(ofNetwork, network), inArray(state, ['open', 'foreign']));
    const rows = orm.select().from(outgoingTransfers).where(isJudged).all();
    for (const row of rows.filter((one) => !check.isOutgoing(one)))
      orm.delete(outgoingTransfers).where(eq(rowId, row.id)).run();
  }

  /** Deletes a freeze if it is still the one that was shown. */
  function end(freeze: Freeze): boolean {
    const { network, code, sinceMs } = freeze;
    const isNamed = and(eq(payoutFreezes.network, network ?? EVERYWHERE), eq(payoutFreezes.code, code));
    const isIt = and(isNamed, eq(payoutFreezes.sinceMs, sinceMs));
    return orm.delete(payoutFreezes).where(isIt).run().changes > 0;
  }

  /** @returns false if it is not that freeze any more, or something else left the wallets that was not shown */
  function thaw(freeze: Freeze, transfers: readonly number[], own: OperatorAct): boolean {
    const { network, code } = freeze;
    const seen = network && code === OUTFLOW_FOREIGN ? acknowledge(network, transfers) : [];
    const isMore =
      network &&
      code === OUTFLOW_FOREIGN &&
      orm.select().from(outgoingTransfers).where(isForeignOf(network)).limit(1).get();
    const isEnded = !isMore && end(freeze);
    if (network && code === ROW_ALTERED && isEnded) deleteAltered(network);
    const before = { ...audited(freeze), ...(seen.length > 0 && { transactions: seen.join(' ') }) };
    if (isEnded || seen.length > 0)
      recordAct(own, { target: nameOf(network), before, after: isEnded ? null : audited(freeze) });
    return isEnded;
  }

  return {
    async freezePayouts(...parts) {
      return db.write(() => freezer.freeze(...parts));
    },
    async thawPayouts({ freezes, transfers }, own) {
      return db.write(() => freezes.filter((one) => thaw(one, transfers, own)));
    },
    async findFreeze(network) {
      return db.read(() => freezesOf(network)[0] ?? null);
    },
    async listFreezes() {
      return db.read(() => all.all().map(toFreeze));
    },
  };
}
