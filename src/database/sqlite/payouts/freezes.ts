/**
 * Freezes of money out, of one network or of all.
 */
import { and, asc, eq, inArray, isNull, or, sql } from 'drizzle-orm';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { OperatorAct } from '../../audit-log.ts';
import { type Freeze, type FreezeDatabase, OUTFLOW_FOREIGN } from '../../freezes.ts';
import type { RecordAct } from '../audit-log.ts';
import { numbersText } from '../networks.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import type { RowGuard } from '../row-guard.ts';
import { blockGaps, lanes, outgoingTransfers, payoutFreezes } from '../tables.ts';
import { createOutgoingCheck, macedOutgoing } from './outgoing.ts';

/** Who acts in the audit log when the program freezes money out. */
export const PROGRAM = 'quayside';
/** Why a wallet is halted whose numbers somebody else has used. */
export const NONCE_FOREIGN = 'payout_nonce_foreign';
/** Why a network is frozen where the row of such a transfer was altered. */
export const ROW_ALTERED = 'row_altered';
/** Why a network is frozen whose skipped blocks may hold payments that are not known here. */
const BLOCKS_UNSEARCHED = 'blocks_unsearched';
/** Stands for every network in the table. */
const EVERYWHERE = '' as const;

type FreezeRow = typeof payoutFreezes.$inferSelect;

/** Reads the freeze that applies to a network, within the current transaction. */
export type FreezeOf = (network: NetworkKey) => Freeze | null;

const inOrder = [asc(payoutFreezes.network), asc(payoutFreezes.sinceMs), asc(payoutFreezes.code)] as const;

const toFreeze = ({ network, ...row }: FreezeRow): Freeze => ({
  ...row,
  network: network === EVERYWHERE ? null : network,
});
const audited = ({ code, reason, frozenBy, sinceMs }: Freeze) => ({ code, reason, frozenBy, sinceMs });
const nameOf = (network: NetworkKey | null): string => network ?? 'every network';

export function createFreezeReader(db: Db): FreezeOf {
  const { orm } = db;
  const select = atFirstUse(
    orm
      .select()
      .from(payoutFreezes)
      .where(or(eq(payoutFreezes.network, sql`''`), eq(payoutFreezes.network, sql.placeholder('network'))))
      .orderBy(...inOrder)
      .limit(1),
  );
  const ofGap = createGapFreezes(db);
  return (network) => {
    const row = select.get({ network });
    return row ? toFreeze(row) : ofGap.find(network);
  };
}

/** Freezes that follow from gaps: they end when the blocks are read, or when an operator thaws the network. */
export function createGapFreezes({ orm }: Db) {
  const isHolding = and(isNull(blockGaps.closedAtMs), eq(blockGaps.holdsPayouts, sql`1`));
  const isOfNetwork = eq(blockGaps.network, sql.placeholder('network'));
  const oldest = atFirstUse(
    orm.select().from(blockGaps).where(and(isHolding, isOfNetwork)).orderBy(asc(blockGaps.id)).limit(1),
  );
  const held = atFirstUse(
    orm.selectDistinct({ network: blockGaps.network }).from(blockGaps).where(isHolding).orderBy(asc(blockGaps.network)),
  );
  const find = (network: NetworkKey): Freeze | null => {
    const gap = oldest.get({ network });
    if (!gap) return null;
    const { fromNumber: from, toNumber: to, atMs: sinceMs } = gap;
    const reason =
      `${numbersText(from, to)} were skipped, so what was paid out in them may be missed. When a node has them, ` +
      `\`quayside network reread ${network} --from ${from} --to ${to}\` searches them and ends this. If none ever will, ` +
      `compare the wallets' transactions in an explorer with \`quayside payout list\` first`;
    return { network, code: BLOCKS_UNSEARCHED, reason, frozenBy: PROGRAM, sinceMs, gapId: gap.id };
  };
  return {
    find,
    list: (): Freeze[] => held.all({}).flatMap((row) => find(row.network) ?? []),
    /** Ends the one that `find` returns, if it is still this one: whoever thaws has looked at its blocks otherwise. */
    end(network: NetworkKey, { gapId }: Freeze): boolean {
      const gap = oldest.get({ network });
      if (!gap || gap.id !== gapId) return false;
      orm.update(blockGaps).set({ holdsPayouts: false }).where(eq(blockGaps.id, gap.id)).run();
      return true;
    },
  };
}

/** Freezes money out within the current transaction. @returns false when it was frozen before for the same cause */
export type Freezer = (...[freeze, act]: Parameters<FreezeDatabase['freezePayouts']>) => boolean;

export const createFreezer =
  ({ orm }: Db, recordAct: RecordAct): Freezer =>
  (freeze, act) => {
    const row = { ...freeze, network: freeze.network ?? EVERYWHERE };
    const isNew = orm.insert(payoutFreezes).values(row).onConflictDoNothing().run().changes > 0;
    if (isNew && act) recordAct(act, { target: nameOf(freeze.network), before: null, after: audited(freeze) });
    return isNew;
  };

const act = (command: string, reason: string, atMs: number) => ({ atMs, operator: PROGRAM, command, reason });

/** The freeze of a network for transfers that nothing explains. */
export type OutflowFreeze = Readonly<{
  /** Returns whether all of them are explained by now. */
  isOver(network: NetworkKey): boolean;
  /** Ends it then. */
  endIfOver(network: NetworkKey, nowMs: number): void;
}>;

/** To be called within a transaction. */
export function createOutflowFreeze({ orm }: Db, recordAct: RecordAct): OutflowFreeze {
  const isFreeze = and(eq(payoutFreezes.network, sql.placeholder('network')), eq(payoutFreezes.code, OUTFLOW_FOREIGN));
  const begun = atFirstUse(orm.select().from(payoutFreezes).where(isFreeze));
  const ended = atFirstUse(orm.delete(payoutFreezes).where(isFreeze).returning());
  const foreign = atFirstUse(
    orm
      .select({ id: outgoingTransfers.id })
      .from(outgoingTransfers)
      .where(and(eq(outgoingTransfers.network, sql.placeholder('network')), eq(outgoingTransfers.state, 'foreign')))
      .limit(1),
  );
  const isOver = (network: NetworkKey) => begun.get({ network }) !== undefined && !foreign.get({ network });
  return {
    isOver,
    endIfOver(network, nowMs) {
      const row = isOver(network) && ended.get({ network });
      if (!row) return;
      const why = act('payout thaw', 'what left the wallets is explained', nowMs);
      recordAct(why, { target: network, before: audited(toFreeze(row)), after: null });
    },
  };
}

/** The freeze of a network while somebody else has used a wallet's sequence numbers, and nothing explains that. */
export type NumberFreeze = Readonly<{
  begin(network: NetworkKey, payer: string, nowMs: number): void;
  /** Ends it once no wallet is halted for that any more. */
  end(network: NetworkKey, nowMs: number): void;
}>;

/** To be called within a transaction. */
export function createNumberFreeze({ orm }: Db, freeze: Freezer, recordAct: RecordAct): NumberFreeze {
  const halted = atFirstUse(
    orm
      .select({ payer: lanes.payer })
      .from(lanes)
      .where(and(eq(lanes.network, sql.placeholder('network')), eq(lanes.haltedCode, NONCE_FOREIGN)))
      .limit(1),
  );
  const ended = atFirstUse(
    orm
      .delete(payoutFreezes)
      .where(and(eq(payoutFreezes.network, sql.placeholder('network')), eq(payoutFreezes.code, NONCE_FOREIGN)))
      .returning(),
  );
  return {
    begin(network, payer, nowMs) {
      const reason = `a transaction of wallet ${payer} used a number that no payout explains`;
      const row = { network, code: NONCE_FOREIGN, reason, frozenBy: PROGRAM, sinceMs: nowMs };
      freeze(row, act('payout freeze', reason, nowMs));
    },
    end(network, nowMs) {
      if (halted.get({ network })) return;
      const row = ended.get({ network });
      if (!row) return;
      const why = act('payout thaw', 'no wallet is halted any more', nowMs);
      recordAct(why, { target: network, before: audited(toFreeze(row)), after: null });
    },
  };
}

export function freezeCommands(
  db: Db,
  {
    guard,
    freezeOf,
    freeze,
    recordAct,
  }: Readonly<{ guard: RowGuard; freezeOf: FreezeOf; freeze: Freezer; recordAct: RecordAct }>,
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
  const gapFreezes = createGapFreezes(db);

  const { id: rowId, network: ofNetwork, state } = outgoingTransfers;
  const isForeignOf = (network: NetworkKey) => and(eq(ofNetwork, network), eq(state, 'foreign'));

  /**
   * Whoever thaws has looked at what froze it: no refund is settled by that any more.
   * @returns the transactions of the transfers that were shown
   */
  function acknowledge(network: NetworkKey, transfers: readonly number[]): string[] {
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
    if (network && code === BLOCKS_UNSEARCHED) return gapFreezes.end(network, freeze);
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
      return db.write(() => freeze(...parts));
    },
    async thawPayouts({ freezes, transfers }, own) {
      return db.write(() => freezes.filter((one) => thaw(one, transfers, own)));
    },
    async findFreeze(network) {
      return db.read(() => freezeOf(network));
    },
    async listFreezes() {
      return db.read(() => [...all.all().map(toFreeze), ...gapFreezes.list()]);
    },
  };
}
