/**
 * Transfers to our addresses: facts of blocks. Core decides from them what counts.
 */
import { and, asc, desc, eq, isNotNull, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Counted, Phase, ReceiptState, Recount } from '../core/session.ts';
import { type Currency, type NetworkKey, nameOf } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, laterValues, preparedInsert } from './engine/prepared.ts';
import type { MacedRow, RowGuard } from './row-macs.ts';
import type { Payment } from './session.ts';
import { addresses, blocks, networks, transfers } from './tables.ts';

export type TransferRow = typeof transfers.$inferSelect;

type Fact = Omit<TransferRow, 'id' | 'mac'>;

/** To be called within a transaction. "Shown" transfers are those that are not dust. */
export type Transfers = Readonly<{
  insert(transfer: Fact): void;
  ofBlock(blockId: number): TransferRow[];
  /** Confirms these transactions in a block; all of it if `txs` is absent. */
  confirm(blockId: number, nowMs: number, txs?: readonly string[]): void;
  /** Removes the confirmations of a block that left the chain; the time of the first confirmation stays. */
  unconfirm(blockId: number): void;
  /** Returns the phase of a transaction that paid the address in an earlier block, or null. */
  phaseOf(addressId: number, network: NetworkKey, tx: string): Phase | null;
  /** Returns the canonical blocks with shown transfers and `above` < number ≤ `through`. */
  blocksBetween(network: NetworkKey, above: number, through: number): number[];
  /**
   * Compares the shown transfers of blocks with what the sessions' sums contain of them, and notes the differences as
   * counted. @returns the differences, by the sessions that the blocks pay; each must then be added to the sums
   */
  recount(blockIds: readonly number[], floor: number): Map<string, Recount[]>;
  /** Returns the shown transfers to a session's addresses, oldest first; only the newest if `limit` is given. */
  ofSession(sessionId: string, limit?: number): SessionTransfer[];
  /** Notes what a session's sums contain of one transfer, and its phase. */
  note(id: number, phase: Phase | null, counted: Counted): void;
  /** Returns whether a canonical block contains a transfer of this transaction to the session. */
  holds(sessionId: string, network: NetworkKey, tx: string): boolean;
  /** Returns the address key of the sender of the largest confirmed transfer among the first `SENDERS_MAX`. */
  largestSender(sessionId: string, network: NetworkKey, currency: Currency): string | null;
  /** Returns who sent a session confirmed coins of a currency on a network; none where there are too many to tell. */
  senders(sessionId: string, network: NetworkKey, currency: Currency): string[];
}>;

/** Transfers among which the largest is looked for, so that nobody can make a refund slow. */
const SENDERS_MAX = 1_000;

export type SessionTransfer = Readonly<{
  id: number;
  network: NetworkKey;
  tx: string;
  position: number;
  currency: TransferRow['currency'];
  from: string;
  units: bigint;
  decimals: number;
  confirmed: boolean;
  block: string;
  number: number;
  timeS: number;
  canonical: boolean;
  floor: number;
  tipNumber: number | null;
  seenAtMs: number | null;
  confirmedAtMs: number | null;
}>;

/** What the MAC of a transfer covers: who sent what to which of our addresses. */
export const macedTransfer = (
  row: Omit<Fact, 'confirmed' | 'firstConfirmedAtMs' | 'dust' | 'phase' | 'counted' | 'seenAtMs'>,
): MacedRow => {
  const { blockId, tx, position, network, currency, fromKey, addressId, units, decimals } = row;
  const fields = [network, currency, fromKey, addressId, units.toString(), decimals];
  return { table: 'transfers', key: [blockId, tx, position], fields };
};

export function createTransfers(db: Db, guard: RowGuard): Transfers {
  const insert = preparedInsert(db, transfers, ['id']);
  const isOfBlock = eq(transfers.blockId, sql.placeholder('blockId'));
  const isShown = eq(transfers.dust, sql`0`);
  const ofBlock = atFirstUse(db.orm.select().from(transfers).where(isOfBlock));
  const confirming = () =>
    db.orm.update(transfers).set({
      confirmed: true,
      firstConfirmedAtMs: sql`coalesce(${transfers.firstConfirmedAtMs}, ${sql.placeholder('nowMs')})`,
    });
  const confirmAll = atFirstUse(confirming().where(and(isOfBlock, isShown)));
  const confirmOne = atFirstUse(confirming().where(and(isOfBlock, isShown, eq(transfers.tx, sql.placeholder('tx')))));
  const unconfirm = atFirstUse(db.orm.update(transfers).set({ confirmed: false }).where(isOfBlock));
  const note = atFirstUse(
    db.orm
      .update(transfers)
      .set(laterValues(transfers, ['phase', 'counted']))
      .where(eq(transfers.id, sql.placeholder('id'))),
  );
  const earlier = atFirstUse(
    db.orm
      .select({ phase: transfers.phase })
      .from(transfers)
      .where(
        and(
          eq(transfers.addressId, sql.placeholder('addressId')),
          eq(transfers.tx, sql.placeholder('tx')),
          eq(transfers.network, sql.placeholder('network')),
          isNotNull(transfers.phase),
        ),
      )
      .limit(1),
  );
  const shownOfBlock = atFirstUse(
    db.orm
      .select({
        transfer: transfers,
        sessionId: addresses.sessionId,
        canonical: blocks.canonical,
        number: blocks.number,
      })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(addresses, and(eq(addresses.id, transfers.addressId), eq(addresses.state, sql`'taken'`)))
      .where(and(isOfBlock, isShown)),
  );
  const blocksBetween = atFirstUse(
    db.orm
      .selectDistinct({ id: blocks.id })
      .from(blocks)
      .innerJoin(transfers, and(eq(transfers.blockId, blocks.id), isShown))
      .where(
        and(
          eq(blocks.network, sql.placeholder('network')),
          eq(blocks.canonical, sql`1`),
          sql`${blocks.number} > ${sql.placeholder('above')}`,
          sql`${blocks.number} <= ${sql.placeholder('through')}`,
        ),
      ),
  );
  return {
    insert: (transfer) => void insert({ ...transfer, mac: guard.seal(macedTransfer(transfer)) }),
    ofBlock: (blockId) => ofBlock.all({ blockId }),
    confirm(blockId, nowMs, txs) {
      if (!txs) confirmAll.run({ blockId, nowMs });
      else for (const tx of txs) confirmOne.run({ blockId, nowMs, tx });
    },
    unconfirm: (blockId) => void unconfirm.run({ blockId }),
    phaseOf: (addressId, network, tx) => earlier.get({ addressId, network, tx })?.phase ?? null,
    blocksBetween: (network, above, through) => blocksBetween.all({ network, above, through }).map(({ id }) => id),
    recount(blockIds, floor) {
      const found = new Map<string, Recount[]>();
      for (const blockId of new Set(blockIds)) {
        for (const { transfer, sessionId, canonical, number } of shownOfBlock.all({ blockId })) {
          invariant(sessionId !== null, `the taken address ${transfer.addressId} has a session`);
          const changed = found.get(sessionId) ?? [];
          found.set(sessionId, changed);
          const { id, network, currency, decimals, units, phase, counted: from } = transfer;
          const to = countedAs({ ...transfer, canonical, number, floor });
          if (phase === null || from === to) continue;
          note.run({ id, phase, counted: to });
          changed.push({ network, currency, decimals, phase, units, from, to });
        }
      }
      return found;
    },
    note: (id, phase, counted) => void note.run({ id, phase, counted }),
    ...sessionQueries(db, guard),
  };
}

/** What is shown of a transfer to a session. */
const sessionColumns = {
  id: transfers.id,
  network: transfers.network,
  tx: transfers.tx,
  position: transfers.position,
  currency: transfers.currency,
  from: transfers.fromKey,
  units: transfers.units,
  decimals: transfers.decimals,
  confirmed: transfers.confirmed,
  block: blocks.hash,
  number: blocks.number,
  timeS: blocks.timeS,
  canonical: blocks.canonical,
  floor: networks.floor,
  tipNumber: networks.tipNumber,
  seenAtMs: transfers.seenAtMs,
  confirmedAtMs: transfers.firstConfirmedAtMs,
};

/** Queries for what one session received. */
function sessionQueries(
  { orm }: Db,
  guard: RowGuard,
): Pick<Transfers, 'ofSession' | 'holds' | 'largestSender' | 'senders'> {
  const isOfAddress = eq(transfers.addressId, sql.placeholder('addressId'));
  const isShown = eq(transfers.dust, sql`0`);
  const isOfSession = eq(addresses.sessionId, sql.placeholder('sessionId'));
  const addressesOf = atFirstUse(orm.select({ id: addresses.id }).from(addresses).where(isOfSession));
  const newest = atFirstUse(
    orm
      .select(sessionColumns)
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(networks, eq(networks.key, transfers.network))
      .where(and(isOfAddress, isShown))
      .orderBy(desc(transfers.id))
      .limit(sql.placeholder('limit')),
  );
  const holds = atFirstUse(
    orm
      .select({ id: transfers.id })
      .from(transfers)
      .innerJoin(blocks, and(eq(blocks.id, transfers.blockId), eq(blocks.canonical, sql`1`)))
      .where(
        and(isOfAddress, eq(transfers.tx, sql.placeholder('tx')), eq(transfers.network, sql.placeholder('network'))),
      )
      .limit(1),
  );
  const firstConfirmed = atFirstUse(
    orm
      .select()
      .from(transfers)
      .where(
        and(
          isOfAddress,
          isShown,
          eq(transfers.network, sql.placeholder('network')),
          eq(transfers.currency, sql.placeholder('currency')),
          eq(transfers.confirmed, sql`1`),
        ),
      )
      .orderBy(asc(transfers.id))
      .limit(SENDERS_MAX),
  );
  const idsOf = (sessionId: string): number[] => addressesOf.all({ sessionId }).map(({ id }) => id);

  /** Returns the confirmed transfers that name senders; none if one of them was altered. */
  function receivedFrom(sessionId: string, network: NetworkKey, currency: Currency) {
    const all = idsOf(sessionId).flatMap((addressId) => firstConfirmed.all({ addressId, network, currency }));
    const remedy = 'name the address of its refund by `quayside refund destination`';
    const isIntact = all.every((row) =>
      guard.accepts(macedTransfer(row), row.mac, `transfer ${row.tx} to session ${sessionId}`, remedy),
    );
    return isIntact ? all : [];
  }

  return {
    ofSession(sessionId, limit = -1) {
      const found = idsOf(sessionId).flatMap((addressId) => newest.all({ addressId, limit }));
      found.sort((one, other) => one.id - other.id);
      return limit < 0 ? found : found.slice(-limit);
    },
    holds: (sessionId, network, tx) =>
      idsOf(sessionId).some((addressId) => holds.get({ addressId, network, tx }) !== undefined),
    largestSender(sessionId, network, currency) {
      const all = receivedFrom(sessionId, network, currency);
      return (
        all.reduce<(typeof all)[number] | null>((best, one) => (best && best.units >= one.units ? best : one), null)
          ?.fromKey ?? null
      );
    },
    senders(sessionId, network, currency) {
      const all = receivedFrom(sessionId, network, currency);
      return all.length < SENDERS_MAX ? [...new Set(all.map(({ fromKey }) => fromKey))] : [];
    },
  };
}

/** Returns which of its session's sums contains a transfer now. */
const countedAs = (transfer: Parameters<typeof stateOf>[0]): Counted => {
  const state = stateOf(transfer);
  return state === 'orphaned' ? 'none' : state;
};

/** Returns how firm a transfer is now. */
function stateOf({
  canonical,
  confirmed,
  number,
  floor,
}: Pick<SessionTransfer, 'canonical' | 'confirmed' | 'number' | 'floor'>): ReceiptState {
  if (!canonical) return 'orphaned';
  if (!confirmed) return 'seen';
  return number <= floor ? 'final' : 'confirmed';
}

export const toPayment = (transfer: SessionTransfer): Payment => ({
  networkKey: transfer.network,
  network: nameOf(transfer.network),
  currency: transfer.currency,
  units: transfer.units,
  decimals: transfer.decimals,
  tx: transfer.tx,
  index: transfer.position,
  block: transfer.block,
  from: transfer.from,
  // The block itself is the first confirmation.
  confirmations: transfer.canonical ? (transfer.tipNumber ?? transfer.number) - transfer.number + 1 : 0,
  state: stateOf(transfer),
  blockTimeS: transfer.timeS,
  seenAtMs: transfer.seenAtMs,
  confirmedAtMs: transfer.confirmedAtMs,
});
