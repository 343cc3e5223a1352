/**
 * Freezes of money out, of one network or of all.
 */
import { and, asc, eq, inArray, ne, not, or, sql } from 'drizzle-orm';
import type { Unexplained } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { type Freeze, type FreezeDatabase, OUTFLOW_FOREIGN } from '../freezes.ts';
import type { Ledger } from '../ledger.ts';
import type { RowGuard } from '../row-macs.ts';
import { outgoingTransfers, payoutAttempts, payoutFreezes, walletBooks } from '../tables.ts';
import { createOutgoingCheck, macedOutgoing } from './outgoing.ts';

/** Who acts in the audit log when the program freezes money out. */
export const PROGRAM = 'quayside';
/** Why a network is frozen where a wallet has made transactions that are not known here. */
export const NONCE_FOREIGN = 'payout_nonce_foreign';
/** Why a network is frozen where the row of such a transfer was altered. */
export const ROW_ALTERED = 'row_altered';
/** Why a network is frozen whose skipped blocks may hold payments that are not known here. */
export const BLOCKS_UNSEARCHED = 'blocks_unsearched';
/** Why a network is frozen whose wallets hold less native coin than the books say. */
export const BALANCE_SHORT = 'wallet_balance_short';
/** Stands for every network in the table. */
const EVERYWHERE = '' as const;

type FreezeRow = typeof payoutFreezes.$inferSelect;
type OutgoingRow = typeof outgoingTransfers.$inferSelect;

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
    ledger,
    recordAct,
  }: Readonly<{
    guard: RowGuard;
    freezesOf: FreezesOf;
    freezer: Freezer;
    ledger: Pick<Ledger, 'adjust'>;
    recordAct: RecordAct;
  }>,
): FreezeDatabase {
  const { orm } = db;
  // Prepared, because each engine reads it in each round.
  const all = atFirstUse(
    orm
      .select()
      .from(payoutFreezes)
      .orderBy(...inOrder),
  );
  const { acknowledge, takeMissing, deleteAltered, isMoreForeign } = createAcknowledgement(db, guard);

  /** Deletes a freeze if it is still the one that was shown. */
  function end(freeze: Freeze): boolean {
    const { network, code, sinceMs } = freeze;
    const isNamed = and(eq(payoutFreezes.network, network ?? EVERYWHERE), eq(payoutFreezes.code, code));
    const isIt = and(isNamed, eq(payoutFreezes.sinceMs, sinceMs));
    return orm.delete(payoutFreezes).where(isIt).run().changes > 0;
  }

  /** Ends a freeze if it is still that one, and nothing else left the wallets that was not shown. */
  function thaw(freeze: Freeze, transfers: readonly number[], own: OperatorAct) {
    const { network, code } = freeze;
    const seen = network && code === OUTFLOW_FOREIGN ? acknowledge(network, transfers) : [];
    const isEnded = !(network && code === OUTFLOW_FOREIGN && isMoreForeign(network)) && end(freeze);
    const missing = network && code === BALANCE_SHORT && isEnded ? takeMissing(network) : [];
    if (network && code === ROW_ALTERED && isEnded) deleteAltered(network);
    const before = { ...audited(freeze), ...(seen.length > 0 && { transactions: seen.map(({ tx }) => tx).join(' ') }) };
    if (isEnded || seen.length > 0)
      recordAct(own, { target: nameOf(network), before, after: isEnded ? null : audited(freeze) });
    const moved = [...seen.map(({ currency, units }) => ({ asset: currency, units })), ...missing];
    return { freeze, isEnded, moved };
  }

  return {
    async freezePayouts(...parts) {
      return db.write(() => freezer.freeze(...parts));
    },
    async thawPayouts({ freezes, transfers }, own) {
      return db.write(() => {
        const thawed = freezes.map((one) => thaw(one, transfers, own));
        for (const network of new Set(freezes.flatMap((one) => one.network ?? []))) {
          const moved = thawed.flatMap((one) => (one.freeze.network === network ? one.moved : []));
          ledger.adjust(network, moved, own.reason ?? '', own.atMs);
        }
        return thawed.flatMap(({ freeze, isEnded }) => (isEnded ? [freeze] : []));
      });
    },
    async findFreeze(network) {
      return db.read(() => freezesOf(network)[0] ?? null);
    },
    async listFreezes() {
      return db.read(() => all.all().map(toFreeze));
    },
  };
}

/** What whoever ends the freezes of a network has looked at. */
function createAcknowledgement({ orm }: Db, guard: RowGuard) {
  const check = createOutgoingCheck(guard);
  const { id: rowId, network: ofNetwork, state } = outgoingTransfers;
  const isForeignOf = (network: NetworkKey) => and(eq(ofNetwork, network), eq(state, 'foreign'));

  /**
   * Forgets what attempts explain by now, and keeps the rest as known: a refund that equals it asks first.
   * @returns the transfers that were shown
   */
  function acknowledge(network: NetworkKey, transfers: readonly number[]): OutgoingRow[] {
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
    return rows;
  }

  /** Takes the native coin of a network that is missing, and that whoever ends its freezes has explained. */
  function takeMissing(network: NetworkKey): Unexplained[] {
    const isMissing = and(eq(walletBooks.network, network), ne(walletBooks.missingUnits, 0n));
    const rows = orm.select().from(walletBooks).where(isMissing).all();
    orm.update(walletBooks).set({ missingUnits: 0n }).where(isMissing).run();
    return rows.map(({ asset, missingUnits }) => ({ asset, units: missingUnits }));
  }

  /** Rows that were altered say nothing. */
  function deleteAltered(network: NetworkKey): void {
    const isJudged = and(eq(ofNetwork, network), inArray(state, ['open', 'foreign']));
    const rows = orm.select().from(outgoingTransfers).where(isJudged).all();
    for (const row of rows.filter((one) => !check.isOutgoing(one)))
      orm.delete(outgoingTransfers).where(eq(rowId, row.id)).run();
  }

  return {
    acknowledge,
    takeMissing,
    deleteAltered,
    isMoreForeign: (network: NetworkKey) =>
      orm.select().from(outgoingTransfers).where(isForeignOf(network)).limit(1).get() !== undefined,
  };
}
