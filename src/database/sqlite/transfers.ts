/**
 * Transfers to our addresses: facts of blocks. Core decides from them what counts.
 * @module
 */
import { and, asc, eq, sql } from 'drizzle-orm';
import { toPar } from '../../core/money.ts';
import type { Receipt, ReceiptState } from '../../core/session.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Payment } from '../database.ts';
import type { Db } from './open.ts';
import { preparedInsert } from './prepared.ts';
import { addresses, blocks, networks, transfers } from './schema.ts';

export type TransferRow = typeof transfers.$inferSelect;

/** To be called within a transaction. */
export type Transfers = Readonly<{
  insert(transfer: Omit<TransferRow, 'id'>): void;
  ofBlock(blockId: number): TransferRow[];
  confirm(blockId: number, nowMs: number): void;
  /** Removes the confirmations of a block that left the chain; the time of the first confirmation stays. */
  unconfirm(blockId: number): void;
  /** Returns the sessions whose addresses a block pays. */
  sessionsOf(blockId: number): string[];
  /** Returns the sessions paid by canonical blocks with `above` < number ≤ `through`. */
  sessionsBetween(network: NetworkKey, above: number, through: number): string[];
  /** Returns all transfers to a session's addresses, in the order in which they were seen. */
  ofSession(sessionId: string): SessionTransfer[];
}>;

export type SessionTransfer = Readonly<{
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
}>;

export function createTransfers(db: Db): Transfers {
  const insert = preparedInsert(db, transfers, ['id']);
  const isOfBlock = eq(transfers.blockId, sql.placeholder('blockId'));
  const ofBlock = db.orm.select().from(transfers).where(isOfBlock).prepare();
  const confirm = db.orm
    .update(transfers)
    .set({
      confirmed: true,
      firstConfirmedAtMs: sql`coalesce(${transfers.firstConfirmedAtMs}, ${sql.placeholder('nowMs')})`,
    })
    .where(isOfBlock)
    .prepare();
  const unconfirm = db.orm.update(transfers).set({ confirmed: false }).where(isOfBlock).prepare();
  const isTaken = eq(addresses.state, sql`'taken'`);
  const sessionsOf = db.orm
    .selectDistinct({ id: addresses.sessionId })
    .from(transfers)
    .innerJoin(addresses, and(eq(addresses.id, transfers.addressId), isTaken))
    .where(isOfBlock)
    .prepare();
  const sessionsBetween = db.orm
    .selectDistinct({ id: addresses.sessionId })
    .from(blocks)
    .innerJoin(transfers, eq(transfers.blockId, blocks.id))
    .innerJoin(addresses, and(eq(addresses.id, transfers.addressId), isTaken))
    .where(
      and(
        eq(blocks.network, sql.placeholder('network')),
        eq(blocks.canonical, sql`1`),
        sql`${blocks.number} > ${sql.placeholder('above')}`,
        sql`${blocks.number} <= ${sql.placeholder('through')}`,
      ),
    )
    .prepare();
  const ofSession = db.orm
    .select({
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
    })
    .from(addresses)
    .innerJoin(transfers, eq(transfers.addressId, addresses.id))
    .innerJoin(blocks, eq(blocks.id, transfers.blockId))
    .innerJoin(networks, eq(networks.key, transfers.network))
    .where(eq(addresses.sessionId, sql.placeholder('sessionId')))
    .orderBy(asc(transfers.id))
    .prepare();
  const ids = (rows: readonly { id: string | null }[]): string[] => rows.flatMap(({ id }) => id ?? []);
  return {
    insert: (transfer) => void insert(transfer),
    ofBlock: (blockId) => ofBlock.all({ blockId }),
    confirm: (blockId, nowMs) => void confirm.run({ blockId, nowMs }),
    unconfirm: (blockId) => void unconfirm.run({ blockId }),
    sessionsOf: (blockId) => ids(sessionsOf.all({ blockId })),
    sessionsBetween: (network, above, through) => ids(sessionsBetween.all({ network, above, through })),
    ofSession: (sessionId) => ofSession.all({ sessionId }),
  };
}

/** Returns how firm a transfer is now. */
function stateOf({ canonical, confirmed, number, floor }: SessionTransfer): ReceiptState {
  if (!canonical) return 'orphaned';
  if (!confirmed) return 'seen';
  return number <= floor ? 'final' : 'confirmed';
}

export const toReceipt = (transfer: SessionTransfer): Receipt => ({
  network: transfer.network,
  tx: transfer.tx,
  currency: transfer.currency,
  valuePar: toPar(transfer.units, transfer.decimals),
  blockTimeS: transfer.timeS,
  state: stateOf(transfer),
});

export const toPayment = (transfer: SessionTransfer): Payment => ({
  networkKey: transfer.network,
  network: transfer.network.slice(transfer.network.indexOf(':') + 1),
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
});
