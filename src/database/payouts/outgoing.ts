/**
 * Transfers out of our own wallets, as followers save them; `judgement.ts` judges them at finality.
 */
import { and, asc, desc, eq, sql } from 'drizzle-orm';
import type { BlockRef } from '../../core/block.ts';
import { invariant } from '../../core/fault.ts';
import type { PaybackIntent } from '../../core/intent.ts';
import type { ChainTransfer, NetworkKey } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, preparedInsert } from '../engine/prepared.ts';
import type { EqualTransfer } from '../outgoing.ts';
import type { MacedRow, RowGuard } from '../row-macs.ts';
import { lanes, outgoingTransfers, ownWallets, payoutAttempts } from '../tables.ts';
import type { TextFormats } from '../text-formats.ts';

type WalletRow = typeof ownWallets.$inferSelect;
type OutgoingRow = typeof outgoingTransfers.$inferSelect;

/** What the MAC of one of our wallets covers: all of it. */
export const macedWallet = ({ network, role, key }: Pick<WalletRow, 'network' | 'role' | 'key'>): MacedRow => ({
  table: 'own_wallets',
  key: [network, role, key],
  fields: [],
});

/** What the MAC of an outgoing transfer covers: what it moved, where and when, and what became of it. */
export const macedOutgoing = (row: Omit<OutgoingRow, 'id' | 'seenAtMs' | 'mac'>): MacedRow => {
  const { network, blockHash, blockNumber, tx, position, role, fromKey, toKey, currency, units, state } = row;
  const fields = [blockNumber, role, toKey, currency, units.toString(), state];
  return { table: 'outgoing_transfers', key: [network, blockHash, tx, position, fromKey], fields };
};

/** Checks the rows of our wallets and of what left them; raises an alarm for each that was altered. */
export const createOutgoingCheck = (guard: RowGuard) => ({
  isWallet: (row: WalletRow): boolean =>
    guard.accepts(
      macedWallet(row),
      row.mac,
      `the ${row.role} wallet ${row.key} of ${row.network}`,
      'restart Quayside, which takes its wallets from the signer',
    ),
  isOutgoing: (row: OutgoingRow): boolean =>
    guard.accepts(
      macedOutgoing(row),
      row.mac,
      `transfer ${row.tx} #${row.position} out of our wallet on ${row.network}`,
      `compare \`quayside payout list\` with the wallet's transactions in an explorer, and run ` +
        `\`quayside payout reconcile ${row.network} --reason …\`, which deletes the row`,
    ),
});

/** Returns the alarm about a transfer that nothing explains. */
export function foreignText(row: OutgoingRow, { formatAddress, formatAmount }: TextFormats): string {
  const { network, tx, units, currency, role, fromKey, toKey, blockNumber } = row;
  const [from, to] = [fromKey, toKey].map((key) => formatAddress(network, key));
  return (
    `Transaction ${tx} in block ${blockNumber} of ${network} moved ${formatAmount(network, currency, units)} from our ` +
    `${role} wallet ${from} to ${to}, and no payout explains it: this database was restored from a backup and has lost ` +
    `a refund, or somebody has the wallet's key. Money out is frozen on ${network}. If somebody has the key, move what ` +
    `the wallet still holds to another seed. \`quayside payout reconcile ${network} --reason …\` shows what it may have ` +
    'paid, and ends the freeze.'
  );
}

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
  /** Returns whether something that no attempt explains, and nobody has looked at, may have paid a refund already. */
  mayHavePaid(intent: PaybackIntent): boolean;
  /**
   * Returns the oldest transfer that equals what a refund pays, that no attempt explains, and that an operator has
   * acknowledged: a person is asked about each in turn.
   * @param afterId the last of which a person has said that it did not pay this refund; null for none
   */
  findEqual(intent: PaybackIntent, afterId: number | null): EqualTransfer | null;
}>;

export function createOutgoing(db: Db, guard: RowGuard): Outgoing {
  const { orm } = db;
  const check = createOutgoingCheck(guard);
  const { newestFirst, withKey, uncounted, attempted, known, unexplained } = createQueries(db);
  const insert = preparedInsert(db, outgoingTransfers, ['id']);
  const roleOf = (network: NetworkKey, key: string) => withKey.all({ network, key }).find(check.isWallet)?.role;
  const leaving = (network: NetworkKey, content: readonly ChainTransfer[]) =>
    content.flatMap((transfer) => {
      const role = transfer.isOutgoing && roleOf(network, transfer.from);
      // The wallets' balances show what native coin has left.
      return role && transfer.currency !== 'native' ? { role, transfer } : [];
    });
  const unexplainedTo = ({ network, to }: PaybackIntent): OutgoingRow[] => unexplained.all({ network, to });
  const isEqual = (row: OutgoingRow, { currency, units }: PaybackIntent): boolean =>
    row.currency === currency && row.units === units;
  const placeOf = (network: NetworkKey, block: BlockRef, { tx, index: position, from: fromKey }: ChainTransfer) => ({
    network,
    blockHash: block.hash,
    tx,
    position,
    fromKey,
  });

  return {
    highestWalletId: (network) => newestFirst.all({ network }).find(check.isWallet)?.id ?? 0,
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
        const row = { ...place, toKey, currency, units, role, blockNumber: block.number, state };
        insert({ ...row, seenAtMs: nowMs, mac: guard.seal(macedOutgoing(row)) });
      }
    },
    drop(network, hash) {
      const { network: of, blockHash, state } = outgoingTransfers;
      orm
        .delete(outgoingTransfers)
        .where(and(eq(of, network), eq(blockHash, hash), eq(state, 'open')))
        .run();
    },
    // What was altered may have paid it, too.
    mayHavePaid: (intent) =>
      unexplainedTo(intent).some((row) => row.state !== 'known' && (!check.isOutgoing(row) || isEqual(row, intent))),
    findEqual(intent, afterId) {
      const found = unexplainedTo(intent).find(
        (row) =>
          row.id > (afterId ?? 0) &&
          row.state === 'known' &&
          (!check.isOutgoing(row) || (row.role === 'refund' && isEqual(row, intent))),
      );
      return found ? { id: found.id, tx: found.tx } : null;
    },
  };
}

function createQueries({ orm }: Db) {
  const newestFirst = atFirstUse(
    orm
      .select()
      .from(ownWallets)
      .where(eq(ownWallets.network, sql.placeholder('network')))
      .orderBy(desc(ownWallets.id)),
  );
  const withKey = atFirstUse(
    orm
      .select()
      .from(ownWallets)
      .where(and(eq(ownWallets.network, sql.placeholder('network')), eq(ownWallets.key, sql.placeholder('key')))),
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
      .select()
      .from(outgoingTransfers)
      .where(
        and(
          eq(outgoingTransfers.network, sql.placeholder('network')),
          eq(outgoingTransfers.toKey, sql.placeholder('to')),
          sql`${outgoingTransfers.state} IN ('open', 'foreign', 'known')`,
          sql`NOT EXISTS (SELECT 1 FROM ${payoutAttempts} AS a WHERE a.tx = ${outgoingTransfers.tx})`,
        ),
      )
      .orderBy(asc(outgoingTransfers.id)),
  );
  return { newestFirst, withKey, uncounted, attempted, known, unexplained };
}
