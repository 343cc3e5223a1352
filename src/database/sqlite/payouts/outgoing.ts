/**
 * Transfers out of our own wallets, as followers save them; `judgement.ts` judges them at finality.
 * @module
 */
import { and, eq, max, sql } from 'drizzle-orm';
import type { BlockRef } from '../../../core/block.ts';
import { invariant } from '../../../core/fault.ts';
import type { PaybackIntent } from '../../../core/intent.ts';
import type { ChainTransfer, NetworkKey } from '../../../core/transfer.ts';
import type { Db } from '../open.ts';
import { atFirstUse, preparedInsert } from '../prepared.ts';
import { lanes, outgoingTransfers, ownWallets, payoutAttempts } from './schema.ts';

/** To be called within a transaction. */
export type Outgoing = Readonly<{
  /** Returns the id of the newest wallet of a network; 0 if none is known. */
  highestWalletId(network: NetworkKey): number;
  /** Saves those transfers of a block that leave our wallets. */
  add(network: NetworkKey, block: BlockRef, content: readonly ChainTransfer[], nowMs: number): void;
  /** Returns those of a block's transfers out of the refund and gas wallets that are not saved and have no attempt. */
  unsaved(network: NetworkKey, block: BlockRef, content: readonly ChainTransfer[]): ChainTransfer[];
  /**
   * Returns whether transactions of our refund or gas wallet could be missed without a trace: it is known, and no
   * sequence numbers are kept that would tell how many it has sent.
   */
  hasUncountedWallet(network: NetworkKey): boolean;
  /** Forgets what has not been judged of a block that left the chain. */
  drop(network: NetworkKey, hash: string): void;
  /** Returns whether something that no attempt explains may have paid a refund already. */
  mayHavePaid(intent: PaybackIntent): boolean;
}>;

export function createOutgoing(db: Db): Outgoing {
  const { orm } = db;
  const { newest, roleOf, uncounted, attempted, known, unexplained } = createQueries(db);
  const insert = preparedInsert(db, outgoingTransfers, ['id']);
  const leaving = (network: NetworkKey, content: readonly ChainTransfer[]) =>
    content.flatMap((transfer) => {
      const role = transfer.isOutgoing && roleOf.get({ network, key: transfer.from })?.role;
      return role ? { role, transfer } : [];
    });
  const placeOf = (network: NetworkKey, block: BlockRef, { tx, index: position, from: fromKey }: ChainTransfer) => ({
    network,
    blockHash: block.hash,
    tx,
    position,
    fromKey,
  });

  return {
    highestWalletId: (network) => newest.get({ network })?.id ?? 0,
    unsaved: (network, block, content) =>
      leaving(network, content)
        .filter(({ role, transfer }) => role !== 'treasury' && !attempted.get({ tx: transfer.tx }))
        .filter(({ transfer }) => !known.get(placeOf(network, block, transfer)))
        .map(({ transfer }) => transfer),
    hasUncountedWallet: (network) => uncounted.get({ network }) !== undefined,
    add(network, block, content, nowMs) {
      for (const { role, transfer } of leaving(network, content)) {
        const { currency, to: toKey, units } = transfer;
        invariant(units > 0n, `outgoing transfer ${transfer.tx} #${transfer.index} on ${network} is above zero`);
        const place = placeOf(network, block, transfer);
        if (known.get(place)) continue;
        const state = 'open' as const;
        const moved = { toKey, currency, units, role, blockNumber: block.number };
        insert({ ...place, ...moved, state, seenAtMs: nowMs });
      }
    },
    drop(network, hash) {
      const { network: of, blockHash, state } = outgoingTransfers;
      orm
        .delete(outgoingTransfers)
        .where(and(eq(of, network), eq(blockHash, hash), eq(state, 'open')))
        .run();
    },
    mayHavePaid: ({ network, to, currency, units }) =>
      unexplained.all({ network, to }).some((row) => row.currency === currency && row.units === units),
  };
}

function createQueries({ orm }: Db) {
  const newest = atFirstUse(
    orm
      .select({ id: max(ownWallets.id) })
      .from(ownWallets)
      .where(eq(ownWallets.network, sql.placeholder('network'))),
  );
  const roleOf = atFirstUse(
    orm
      .select({ role: ownWallets.role })
      .from(ownWallets)
      .where(and(eq(ownWallets.network, sql.placeholder('network')), eq(ownWallets.key, sql.placeholder('key'))))
      .limit(1),
  );
  const uncounted = atFirstUse(
    orm
      .select({ id: ownWallets.id })
      .from(ownWallets)
      .where(
        and(
          eq(ownWallets.network, sql.placeholder('network')),
          sql`${ownWallets.role} <> 'treasury'`,
          sql`NOT EXISTS (SELECT 1 FROM ${lanes} AS l WHERE l.network = ${ownWallets.network} AND l.payer = ${ownWallets.key})`,
        ),
      )
      .limit(1),
  );
  const attempted = atFirstUse(
    orm
      .select({ id: payoutAttempts.payoutId })
      .from(payoutAttempts)
      .where(eq(payoutAttempts.tx, sql.placeholder('tx')))
      .limit(1),
  );
  const known = atFirstUse(
    orm
      .select({ id: outgoingTransfers.id })
      .from(outgoingTransfers)
      .where(
        and(
          eq(outgoingTransfers.network, sql.placeholder('network')),
          eq(outgoingTransfers.blockHash, sql.placeholder('blockHash')),
          eq(outgoingTransfers.tx, sql.placeholder('tx')),
          eq(outgoingTransfers.position, sql.placeholder('position')),
          eq(outgoingTransfers.fromKey, sql.placeholder('fromKey')),
        ),
      ),
  );
  const unexplained = atFirstUse(
    orm
      .select({ units: outgoingTransfers.units, currency: outgoingTransfers.currency })
      .from(outgoingTransfers)
      .where(
        and(
          eq(outgoingTransfers.network, sql.placeholder('network')),
          eq(outgoingTransfers.toKey, sql.placeholder('to')),
          sql`${outgoingTransfers.state} IN ('open', 'foreign')`,
          sql`NOT EXISTS (SELECT 1 FROM ${payoutAttempts} AS a WHERE a.tx = ${outgoingTransfers.tx})`,
        ),
      ),
  );
  return { newest, roleOf, uncounted, attempted, known, unexplained };
}
