/**
 * Transfers to our addresses: facts of blocks. Core decides from them what counts.
 */

import { and, asc, desc, eq, gt, isNotNull, lte, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Counted, Phase, ReceiptState, Recount } from '../core/session.ts';
import { type Currency, type NetworkKey, nameOf } from '../core/transfer.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, changeBy, findBy, given, preparedInsert } from './engine/prepared.ts';
import type { MacedRow, RowGuard } from './sealing.ts';
import type { Payment } from './session.ts';
import { addresses, blocks, networks, transfers } from './tables.ts';

export type TransferRow = typeof transfers.$inferSelect;

type Fact = Omit<TransferRow, 'mac'>;

/** Transfers among which the largest is looked for, so that nobody can make a refund slow. */
const SENDERS_MAX = 1_000;

type SessionTransfer = Pick<
  TransferRow,
  'id' | 'network' | 'tx' | 'position' | 'currency' | 'units' | 'decimals' | 'confirmed' | 'seenAtMs'
> &
  Pick<typeof blocks.$inferSelect, 'number' | 'timeS' | 'canonical'> &
  Pick<typeof networks.$inferSelect, 'floor' | 'tipNumber'> &
  Readonly<{ from: string; block: string; confirmedAtMs: number | null }>;

/** Returns the columns that the MAC of a transfer covers: sender, amount and our address. */
export const macedTransfer = (
  row: Omit<Fact, 'id' | 'confirmed' | 'firstConfirmedAtMs' | 'dust' | 'phase' | 'counted' | 'seenAtMs'>,
): MacedRow => {
  const { blockId, tx, position, network, currency, fromKey, addressId, units, decimals } = row;
  const fields = [network, currency, fromKey, addressId, units.toString(), decimals];
  return { table: 'transfers', key: [blockId, tx, position], fields };
};

/** Returns functions that are called within a transaction. "Shown" transfers are those that are not dust. */
export function createTransfers(db: Db, guard: RowGuard) {
  return { ...factSteps(db, guard), ...sessionQueries(db, guard) };
}

export type Transfers = ReturnType<typeof createTransfers>;

const isShown = eq(transfers.dust, sql`0`);

function factSteps(db: Db, guard: RowGuard) {
  const insert = preparedInsert(db, transfers);
  const ofBlock = findBy(db, transfers, 'blockId');
  const confirming = () =>
    db.orm.update(transfers).set({
      confirmed: true,
      firstConfirmedAtMs: sql`coalesce(${transfers.firstConfirmedAtMs}, ${sql.placeholder('nowMs')})`,
    });
  const confirmAll = atFirstUse(confirming().where(and(given(transfers, 'blockId'), isShown)));
  const confirmOne = atFirstUse(confirming().where(and(given(transfers, 'blockId', 'tx'), isShown)));
  const setConfirmed = changeBy(db, transfers, ['confirmed'], 'blockId');
  const note = changeBy(db, transfers, ['phase', 'counted'], 'id');
  const isPhased = and(given(transfers, 'addressId', 'tx', 'network'), isNotNull(transfers.phase));
  const earlier = atFirstUse(db.orm.select({ phase: transfers.phase }).from(transfers).where(isPhased).limit(1));
  const shownOfBlock = atFirstUse(
    db.orm
      .select({ transfer: transfers, sessionId: addresses.sessionId, ...canonicalPlace })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(addresses, and(eq(addresses.id, transfers.addressId), eq(addresses.state, sql`'taken'`)))
      .where(and(given(transfers, 'blockId'), isShown)),
  );
  const isBetween = and(gt(blocks.number, sql.placeholder('above')), lte(blocks.number, sql.placeholder('through')));
  const blocksBetween = atFirstUse(
    db.orm
      .selectDistinct({ id: blocks.id })
      .from(blocks)
      .innerJoin(transfers, and(eq(transfers.blockId, blocks.id), isShown))
      .where(and(given(blocks, 'network'), eq(blocks.canonical, sql`1`), isBetween)),
  );
  return {
    insert: async (transfer: Fact) => {
      await insert({ ...transfer, mac: guard.seal(macedTransfer(transfer)) });
    },
    ofBlock: (blockId: number): Promise<TransferRow[]> => ofBlock.all({ blockId }),
    /** Confirms these transactions in a block; all of it if `txs` is absent. */
    async confirm(blockId: number, nowMs: number, txs?: readonly string[]): Promise<void> {
      if (!txs) await confirmAll.run({ blockId, nowMs });
      else for (const tx of txs) await confirmOne.run({ blockId, nowMs, tx });
    },
    /** Removes the confirmations of a block that left the chain; the time of the first confirmation stays. */
    unconfirm: async (blockId: number) => {
      await setConfirmed({ blockId, confirmed: false });
    },
    /** Returns the phase of a transaction that paid the address in an earlier block, or null. */
    phaseOf: async (addressId: number, network: NetworkKey, tx: string): Promise<Phase | null> =>
      (await earlier.get({ addressId, network, tx }))?.phase ?? null,
    /** Returns the canonical blocks with shown transfers and `above` < number ≤ `through`. */
    blocksBetween: async (network: NetworkKey, above: number, through: number): Promise<number[]> =>
      (await blocksBetween.all({ network, above, through })).map(({ id }) => id),
    /**
     * Compares the shown transfers of blocks with what the sessions' sums contain of them, and notes the differences as
     * counted. @returns the differences, by the sessions that the blocks pay; each must then be added to the sums
     */
    async recount(blockIds: readonly number[], floor: number): Promise<Map<string, Recount[]>> {
      const found = new Map<string, Recount[]>();
      for (const blockId of new Set(blockIds)) {
        for (const { transfer, sessionId, canonical, number } of await shownOfBlock.all({ blockId })) {
          invariant(sessionId !== null, `the taken address ${transfer.addressId} has a session`);
          const changed = found.get(sessionId) ?? [];
          found.set(sessionId, changed);
          const { id, network, currency, decimals, units, phase, counted: from } = transfer;
          const to = countedAs({ ...transfer, canonical, number, floor });
          if (phase === null || from === to) continue;
          await note({ id, phase, counted: to });
          changed.push({ network, currency, decimals, phase, units, from, to });
        }
      }
      return found;
    },
  };
}

const canonicalPlace = { canonical: blocks.canonical, number: blocks.number };

/** Returns the payment that a session shows for a transfer. */
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
function sessionQueries({ orm }: Db, guard: RowGuard) {
  const isOfAddress = given(transfers, 'addressId');
  const isOfSession = given(addresses, 'sessionId');
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
      .where(given(transfers, 'addressId', 'tx', 'network'))
      .limit(1),
  );
  const firstConfirmed = atFirstUse(
    orm
      .select()
      .from(transfers)
      .where(and(given(transfers, 'addressId', 'network', 'currency'), isShown, eq(transfers.confirmed, sql`1`)))
      .orderBy(asc(transfers.id))
      .limit(SENDERS_MAX),
  );
  const idsOf = async (sessionId: string): Promise<number[]> =>
    (await addressesOf.all({ sessionId })).map(({ id }) => id);

  /** Returns the confirmed transfers that name senders; none if one of them was altered. */
  async function receivedFrom(sessionId: string, network: NetworkKey, currency: Currency) {
    const all = (
      await mapInOrder(await idsOf(sessionId), (addressId) => firstConfirmed.all({ addressId, network, currency }))
    ).flat();
    const remedy = 'name the address of its refund by `quayside refund destination`';
    const isIntact = all.every((row) =>
      guard.accepts(macedTransfer(row), row.mac, `transfer ${row.tx} to session ${sessionId}`, remedy),
    );
    return isIntact ? all : [];
  }

  return {
    /** Returns the newest shown transfers to a session's addresses, oldest first. */
    async ofSession(sessionId: string, limit: number): Promise<Payment[]> {
      const found = (await mapInOrder(await idsOf(sessionId), (addressId) => newest.all({ addressId, limit }))).flat();
      found.sort((one, other) => one.id - other.id);
      return found.slice(-limit).map(toPayment);
    },
    /** Returns whether a canonical block contains a transfer of this transaction to the session. */
    async holds(sessionId: string, network: NetworkKey, tx: string): Promise<boolean> {
      for (const addressId of await idsOf(sessionId)) {
        if ((await holds.get({ addressId, network, tx })) !== undefined) return true;
      }
      return false;
    },
    /** Returns the address key of the sender of the largest confirmed transfer among the first `SENDERS_MAX`. */
    async largestSender(sessionId: string, network: NetworkKey, currency: Currency): Promise<string | null> {
      const [first, ...others] = await receivedFrom(sessionId, network, currency);
      return first ? others.reduce((best, one) => (best.units >= one.units ? best : one), first).fromKey : null;
    },
    /** Returns who sent a session confirmed coins of a currency on a network; none where there are too many to tell. */
    async senders(sessionId: string, network: NetworkKey, currency: Currency): Promise<string[]> {
      const all = await receivedFrom(sessionId, network, currency);
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

const toPayment = (transfer: SessionTransfer): Payment => ({
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
