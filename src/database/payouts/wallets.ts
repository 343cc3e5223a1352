/** The wallets that pay: their outgoing transfers, their balances, and the comparison of these with the ledger. */

import type { BlockRef } from '../../core/block.ts';
import { invariant } from '../../core/fault.ts';
import { type HotRole, type Intent, isPaidBy, type OwnRole, ownRoles, type PaybackIntent } from '../../core/intent.ts';
import type { Asset } from '../../core/ledger.ts';
import { freezeTexts } from '../../core/reasons.ts';
import type { ChainTransfer, NetworkKey } from '../../core/transfer.ts';
import { readBook } from '../../core/wallet-books.ts';
import { filterInOrder, mapInOrder } from '../engine/bodies.ts';
import { readBigJson } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, deleteRows, findRow, findRows, insertRow, perDatabase } from '../engine/rows.ts';
import { listData, nextNumber, writeData } from '../meta.ts';
import { lockNetwork, type RowIds } from '../networks.ts';
import type { SealedDb } from '../sealing.ts';
import { networks, outgoingTransfers, ownWallets, payoutAttempts, walletBooks } from '../tables.ts';
import { BALANCE_SHORT, freezeByProgram, IS_UNEXPLAINED, OUTFLOW_FOREIGN } from './holds.ts';

// ── Transfers out ────────────────────────────────────────────────────────────────────────────────────────────────────
// Followers save transfers out, and each is judged once it is final. If no attempt explains it, money out is frozen.
// The transfer may be a theft, or a refund whose attempt a restored database does not know.
//
// Decoders leave out transfers of zero, because many tokens let anybody write one in another's name (`transferFrom`
// with 0).

/**
 * A transfer out of one of our wallets that no attempt here explains.
 * - `open`: not judged yet, because it is not final.
 * - `foreign`: nothing explains it, and it froze money out. `known`: an operator has ended that freeze, and thereby
 *   acknowledged it. A refund that equals it waits for a person.
 */
export type OutgoingRecord = typeof outgoingTransfers.$inferSelect;

/** A transfer that equals a refund. It is `known` once an operator has acknowledged it. */
export type EqualTransfer = Pick<OutgoingRecord, 'id' | 'tx' | 'state'>;

/** Most transfers that one transaction judges. */
const JUDGED_MAX = 100;

export const outgoingRowsOf = perDatabase((db: Db) => {
  const highest = db.client.values('SELECT coalesce(max(seq), 0) FROM own_wallets WHERE network = ?');
  const unexplained = `WHERE network = :network AND to_key = :to AND ${IS_UNEXPLAINED} AND NOT EXISTS (
       SELECT 1 FROM other_transfers AS o WHERE o.payout_id = :id AND o.transfer_id = outgoing_transfers.id)
     ORDER BY id`;
  const leaving = async (network: NetworkKey, content: readonly ChainTransfer[]) =>
    (
      await mapInOrder(content, async (transfer) => {
        const role = transfer.isOutgoing && (await findRow(db, ownWallets, { network, key: transfer.from }))?.role;
        return role && role !== 'treasury' ? { role, transfer } : [];
      })
    ).flat();
  const placeOf = (network: NetworkKey, block: BlockRef, { tx, index: position, from: fromKey }: ChainTransfer) => ({
    network,
    blockHash: block.hash,
    tx,
    position,
    fromKey,
  });

  return {
    /** Returns the `seq` of the newest wallet of a network; 0 if it has none. */
    newestWallet: async (network: NetworkKey): Promise<number> => Number(await highest.get(network)),
    /** Returns a block's transfers out of the refund and gas wallets that are not saved and have no attempt. */
    unsaved: async (
      network: NetworkKey,
      block: BlockRef,
      content: readonly ChainTransfer[],
    ): Promise<ChainTransfer[]> => {
      const unknown = await filterInOrder(
        await leaving(network, content),
        async ({ transfer }) =>
          !(await findRow(db, payoutAttempts, { tx: transfer.tx })) &&
          !(await findRow(db, outgoingTransfers, placeOf(network, block, transfer))),
      );
      return unknown.map(({ transfer }) => transfer);
    },
    /** Saves the transfers of a block that leave the refund and gas wallets. */
    async add(
      { network, ids, nowMs }: Readonly<{ network: NetworkKey; ids: RowIds; nowMs: number }>,
      block: BlockRef,
      content: readonly ChainTransfer[],
    ): Promise<void> {
      for (const { role, transfer } of await leaving(network, content)) {
        const { currency, to: toKey, units } = transfer;
        invariant(units > 0n, `outgoing transfer ${transfer.tx} #${transfer.index} on ${network} is above zero`);
        const place = placeOf(network, block, transfer);
        if (await findRow(db, outgoingTransfers, place)) continue;
        const row = { ...place, toKey, currency, units, role, blockNumber: block.number, seenAtMs: nowMs };
        await insertRow(db, outgoingTransfers, { ...row, id: ids.next(), state: 'open' });
      }
    },
    /** Deletes unjudged transfers of a block that left the chain. */
    async drop(network: NetworkKey, blockHash: string): Promise<void> {
      await deleteRows(db, outgoingTransfers, { network, blockHash, state: 'open' });
    },
    /** Returns the transfers with a refund's payee and amount that no attempt explains and no person has ruled out. */
    equalTo: async (intent: PaybackIntent): Promise<EqualTransfer[]> =>
      (
        await findRows(db, outgoingTransfers, unexplained, { network: intent.network, to: intent.to, id: intent.id })
      ).filter((row) => isPaidBy({ intent }, row)),
  };
});

/** Commands of the repository `wallets` for our wallets and the transfers out of them. */
export function outgoingCommands(db: SealedDb) {
  const final = `WHERE network = :network AND state = 'open' AND block_number <= :floor
    ORDER BY block_number, id LIMIT ${JUDGED_MAX}`;
  const foreign = `WHERE network = :network AND state = 'foreign' AND ${IS_UNEXPLAINED} ORDER BY id LIMIT :limit`;
  const walletsOf = 'WHERE network = :network ORDER BY seq';
  const finalOf = async (network: NetworkKey) =>
    await findRows(db, outgoingTransfers, final, {
      network,
      floor: (await findRow(db, networks, { key: network }))?.floor ?? 0,
    });

  async function judge(row: OutgoingRecord, nowMs: number): Promise<void> {
    const { id } = row;
    if (await findRow(db, payoutAttempts, { tx: row.tx })) {
      await deleteRows(db, outgoingTransfers, { id });
      return;
    }
    await changeRows(db, outgoingTransfers, { id }, { state: 'foreign' });
    await freezeFor(db, row, nowMs);
  }

  return {
    /** Saves the wallets of a network. Known ones stay watched. */
    async recordOwn(network: NetworkKey, own: Readonly<Partial<Record<OwnRole, string>>>): Promise<void> {
      const lacking = async () => {
        const known = await findRows(db, ownWallets, walletsOf, { network });
        const wallets = ownRoles.flatMap((role) => (own[role] === undefined ? [] : { role, key: own[role] }));
        return wallets.filter(({ role, key }) => !known.some((one) => one.role === role && one.key === key));
      };
      if ((await db.read(lacking)).length === 0) return;
      await db.write(async () => {
        for (const { role, key } of await lacking())
          await insertRow(db, ownWallets, { network, seq: await nextNumber(db, `wallets:${network}`), role, key });
      });
    },
    async listOwn(network: NetworkKey): Promise<readonly (typeof ownWallets.$inferSelect)[]> {
      return db.read(() => findRows(db, ownWallets, walletsOf, { network }));
    },
    /**
     * Judges the network's final outgoing transfers, each once. Deletes those that an attempt explains. For the others
     * it freezes money out on the network, with an alarm and an entry of the audit log.
     */
    async judge(network: NetworkKey, nowMs: number): Promise<void> {
      if ((await db.read(() => finalOf(network))).length === 0) return;
      await db.write(async () => {
        await lockNetwork(db, network);
        for (const row of await finalOf(network)) await judge(row, nowMs);
      });
    },
    /**
     * Returns the oldest judged transfers that no attempt explains and no person has acknowledged. The end of their
     * freeze acknowledges them.
     */
    async listForeign(network: NetworkKey, limit: number): Promise<readonly OutgoingRecord[]> {
      return db.read(() => findRows(db, outgoingTransfers, foreign, { network, limit }));
    },
  };
}

/** Freezes the network of a transfer that nothing explains. */
async function freezeFor(db: SealedDb, row: OutgoingRecord, nowMs: number): Promise<void> {
  const { formatAddress, formatAmount } = db;
  const { network, fromKey, toKey, currency, units } = row;
  const amount = formatAmount(network, currency, units);
  const ends = { from: formatAddress(network, fromKey), to: formatAddress(network, toKey) };
  const reason = freezeTexts[OUTFLOW_FOREIGN]({ ...row, amount, ...ends });
  await freezeByProgram(db, { network, code: OUTFLOW_FOREIGN, reason, nowMs });
}

// ── Balances ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Balances of the paying wallet of a role, in base units. `low` lists the assets that need a top-up. */
export type WalletBalance = Readonly<{
  network: NetworkKey;
  role: HotRole;
  key: string;
  units: Readonly<Partial<Record<Asset, bigint>>>;
  low: readonly Asset[];
  readAtMs: number;
}>;

type Reading = Readonly<{
  network: NetworkKey;
  /** Native coin of the refund and the gas wallet together, in base units. */
  heldUnits: bigint;
  /**
   * Most cost of a transaction by the signer's policy, in base units of the native coin. It stands for attempts whose
   * limit is unknown here. If absent, nothing is compared while there are such attempts.
   */
  feeUnitsMax?: bigint | undefined;
  nowMs: number;
}>;

/** The kind of names in `meta` of balances, by network and role. */
const BALANCE = 'balance';

export function walletCommands(db: SealedDb) {
  const { read, write, formatAmount } = db;

  async function compare({ network, heldUnits, feeUnitsMax, nowMs }: Reading): Promise<void> {
    const openUnits = await unitsUnderWay(db, network, feeUnitsMax);
    if (openUnits === null) return;
    const row = (await findRow(db, walletBooks, { network })) ?? null;
    const spentUnits = row ? await spentSince(db, network, row.ledgerSeq) : 0n;
    const { book, missingUnits: more } = readBook(row, { heldUnits, spentUnits, openUnits, nowMs });
    const missingUnits = (row?.missingUnits ?? 0n) + more;
    const newest = db.client.values('SELECT coalesce(max(seq), 0) FROM ledger_entries WHERE network = ?');
    const next = { network, ledgerSeq: Number(await newest.get(network)), ...book, missingUnits };
    if (row) await changeRows(db, walletBooks, { network }, next);
    else await insertRow(db, walletBooks, next);
    if (more === 0n) return;
    const text = (units: bigint) => formatAmount(network, 'native', units);
    const reason = freezeTexts[BALANCE_SHORT]({ network, held: text(heldUnits), lacking: text(more) });
    await freezeByProgram(db, { network, code: BALANCE_SHORT, reason, nowMs });
  }

  return {
    /** Saves the balance of the paying wallet of a role. */
    async recordBalance(balance: WalletBalance): Promise<void> {
      await write(() => writeData(db, `${BALANCE} ${balance.network} ${balance.role}`, balance));
    },
    balances: (): Promise<readonly WalletBalance[]> => read(() => listData<WalletBalance>(db, BALANCE)),
    /**
     * Compares the native coin of a network's refund and gas wallets with the amount that the ledger expects since the
     * last comparison. If some has been missing for minutes, money out is frozen on the network, with an alarm. Tokens
     * are not compared, because their transfers are watched.
     */
    async compareBooks(reading: Reading): Promise<void> {
      await write(async () => {
        await lockNetwork(db, reading.network);
        await compare(reading);
      });
    },
  };
}

/** SQL for the native coin that left the wallets after an entry, by the ledger. */
const spentQuery = `
  SELECT p.units FROM ledger_postings AS p JOIN ledger_entries AS e ON e.network = p.network AND e.seq = p.seq
  WHERE p.network = :network AND p.seq > :ledgerSeq AND p.asset = 'native' AND p.account = 'hot'
    AND e.kind <> 'adjustment'`;
/** SQL for payouts that may be mined and are not booked, with the most that their attempts can cost. */
const openQuery = `
  SELECT p.intent, a.payer_role AS role, a.fee_units_max AS fee
  FROM payouts AS p JOIN payout_attempts AS a ON a.payout_id = p.id AND a.generation = p.generation
  WHERE p.network = :network AND p.state IN ('sent', 'stuck') AND a.attempt = (
    SELECT max(b.attempt) FROM payout_attempts AS b WHERE b.payout_id = p.id AND b.generation = p.generation)`;
type OpenRow = Readonly<{ intent: string; role: string; fee: string }>;

/** Returns the most native coin that an open payout can take; null if unknown. */
function takenBy({ intent: text, role, fee }: OpenRow, feeUnitsMax: bigint | undefined): bigint | null {
  if (role === 'collection') return 0n;
  const intent = readBigJson<Intent>(text);
  const given = intent.kind === 'gas' && intent.form === 'transfer' ? intent.units : 0n;
  // An attempt adopted from the signer's journal has no limit here, so the limit of the signer's policy counts.
  const feeMax = fee === '0' ? feeUnitsMax : BigInt(fee);
  return feeMax === undefined ? null : feeMax + given;
}

async function spentSince({ client }: Db, network: NetworkKey, ledgerSeq: number): Promise<bigint> {
  const spent = await client.values<string>(spentQuery).all({ network, ledgerSeq });
  return spent.reduce((sum, units) => sum - BigInt(units), 0n);
}

/** Returns the most native coin that payouts under way can take; null if unknown. */
async function unitsUnderWay({ client }: Db, network: NetworkKey, feeUnitsMax?: bigint): Promise<bigint | null> {
  return (await client.prepare<OpenRow>(openQuery).all({ network }))
    .map((row) => takenBy(row, feeUnitsMax))
    .reduce((sum: bigint | null, units) => (sum === null || units === null ? null : sum + units), 0n);
}
