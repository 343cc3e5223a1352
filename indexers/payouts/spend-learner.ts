/**
 * Transactions of our own wallets that this database does not know, because it was restored from a backup: moves from
 * one of them to another, native coin for deposit addresses, loans of a stake and their return, sweeps for which the
 * gas wallet or the swept address paid the fee, and those of all kinds that failed. What the chain shows of them is
 * entered into the books, so that what they cost is not missing there, the numbers that they used halt no wallet, and
 * what is still lent is taken back.
 *
 * Whoever has stolen a key can hide nothing behind one. A transaction counts only if it is, byte for byte, what the
 * signer would have made, and pays only wallets of this seed or the treasury: a later wallet of the same role, a
 * deposit address from the gas wallet, or the treasury from deposit addresses. Loans are the gas wallet's, to a
 * deposit address or a refund wallet. It counts only with the cost that each node shows of it, and if that could not
 * be above what the signer's policy allows. One that failed may also have been for a refund that is known here; it is
 * no payment, and only as many count of the same as the engine would have tried.
 * @module
 */
import type { PayoutNode, PlainTransfer, SpendDraft } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import { isPayback, type PaybackIntent } from '../../src/core/intent.ts';
import { learnedGas, learnedSweep } from '../../src/core/outgoing.ts';
import type { Database } from '../../src/database/database.ts';
import type { LearnedIntent, OutgoingRecord } from '../../src/database/outgoing.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { endsLease } from './lease.ts';
import type { PayoutWallets } from './wallets.ts';

/** How often the nodes are asked for what they did not show. */
const ASK_MS_MIN = 10_000;
/** Numbers of a wallet whose use is looked for in one pass. */
const NUMBERS_MAX = 200;
/** Numbers whose users are remembered. */
const REMEMBERED_MAX = 1_000;

type Parts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode'>;
  node: Pick<PayoutNode, 'paidBy' | 'failedBy' | 'usedBy' | 'readTransfer'>;
  database: Pick<
    Database,
    'recordLearned' | 'recordFailed' | 'refundsBehind' | 'recordOutgoing' | 'nextNonce' | 'depositIndex'
  >;
  wallets: Pick<PayoutWallets, 'own' | 'find' | 'draft'>;
  /**
   * Reads the signer's journal: what it names is adopted, not learned.
   * @throws Fault permanent `payouts_not_adopted`
   */
  followJournal(): Promise<void>;
  clock: Clock;
  log: Log;
}>;

/** A transaction of a wallet. `transferId`: the outgoing transfer that showed it. */
type Unknown = Readonly<{ payer: string; tx: string; hasFailed: boolean; transferId?: number }>;

interface SpendLearner {
  /**
   * Learns those of final transfers to or for wallets of ours that the signer would have made; records the others as
   * what they are. Waits between transfers that the nodes do not show.
   * @returns how many of them are judged now
   */
  learn(transfers: readonly OutgoingRecord[]): Promise<number>;
  /**
   * Learns the first transactions that have used numbers of a wallet which were not given out here.
   * @param finalNonce the wallet's first free number at finality
   * @returns whether all of them were learned and more follow: then ask again
   */
  learnNumbers(payer: string, finalNonce: number): Promise<boolean>;
}

export function createSpendLearner(parts: Parts): SpendLearner {
  const { network, node, database, wallets, followJournal, clock, log } = parts;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  /** Numbers that nothing of ours has used, with their wallets, and what used them. */
  const others = new Map<string, Unknown>();
  /** What used numbers: it is final, so the nodes are not asked for it again. */
  const users = new Map<string, Unknown>();

  /** Returns the derivation indices of deposit addresses; null if one is none, or its row was altered. */
  async function indicesOf(keys: readonly string[]): Promise<readonly number[] | null> {
    const found = await Promise.all(keys.map((key) => database.depositIndex(network, key)));
    return found.every((index) => index !== null) ? found : null;
  }

  /** Returns what the signer would have been asked for; null if nothing of it is done so. */
  async function intentOf(payer: string, transfer: PlainTransfer): Promise<LearnedIntent | null> {
    const { tx, currency, to, owners, loan } = transfer;
    const [from, receiver] = [await wallets.find(payer), await wallets.find(to)];
    const units = owners.reduce((sum, owner) => sum + owner.units, 0n);
    if (!from) return owners[0]?.key === payer ? sweepOf(transfer) : null;
    if (from.role !== 'gas' || (receiver && !loan)) return null;
    if (loan && receiver) {
      const { role, index: refundIndex } = receiver;
      return role === 'refund' ? learnedGas(network.key, { form: loan, refundIndex, units }, tx) : null;
    }
    if (currency === null) {
      const [index] = (await indicesOf([to])) ?? [];
      return index === undefined ? null : learnedGas(network.key, { form: loan ?? 'transfer', index, units }, tx);
    }
    return sweepOf(transfer);
  }

  /** Returns the sweep of deposit addresses that a transaction did; null if one of its owners is none. */
  async function sweepOf({ tx, currency, owners }: PlainTransfer): Promise<LearnedIntent | null> {
    const indices = await indicesOf(owners.map(({ key }) => key));
    const parts = owners.map(({ units }, at) => ({ index: indices?.[at] ?? 0, units }));
    return indices && currency && learnedSweep(network.key, currency, parts, tx);
  }

  /** @returns null while a node does not show the transaction, or not as final */
  async function learnOne(unknown: Unknown): Promise<'learned' | 'other' | null> {
    const { payer, tx, hasFailed } = unknown;
    const { treasury, feeUnitsMax } = await wallets.own();
    const transfer = await node.readTransfer(payer, treasury, tx);
    if (transfer === null || transfer === 'other') return transfer;
    if (transfer.feeUnitsMax > feeUnitsMax) return 'other';
    const intent = await intentOf(payer, transfer);
    if (hasFailed) return learnFailed(unknown, transfer, intent);
    if (!intent) return 'other';
    const draft = await wallets.draft(intent, { payer });
    if (!isSame(draft, transfer)) return 'other';
    const paid = await node.paidBy(draft, tx);
    if (!paid) return null;
    await followJournal();
    const spent = { ...unknown, intent, to: transfer.to, paid, nowMs: clock.nowMs() };
    if (!(await database.recordLearned(spent))) return 'other';
    log.warn(
      { payout: intent.id, tx },
      'one of our wallets has paid for a transaction between our wallets that was not known here',
    );
    return 'learned';
  }

  /** Returns the refunds for which a failed transaction may have been. */
  async function refundsBehind(payer: string, { currency, to, owners }: PlainTransfer): Promise<PaybackIntent[]> {
    const [owner] = owners;
    if (currency === null || !owner || (await wallets.find(payer))?.role !== 'refund') return [];
    const failed = { network: network.key, payer, to, currency, units: owner.units };
    return (await database.refundsBehind(failed)).map(({ intent }) => intent).filter(isPayback);
  }

  /** @param intent what it would have done between our wallets; null if nothing */
  async function learnFailed(unknown: Unknown, transfer: PlainTransfer, intent: LearnedIntent | null) {
    const { payer, tx } = unknown;
    for (const one of intent ? [intent] : await refundsBehind(payer, transfer)) {
      const draft = await wallets.draft(one, { payer });
      if (!isSame(draft, transfer)) continue;
      const paid = await node.failedBy(draft, tx);
      if (!paid) return null;
      await followJournal();
      if (!(await database.recordFailed({ ...unknown, intent: one, paid, nowMs: clock.nowMs() }))) continue;
      log.warn({ payout: one.id, tx }, 'one of our wallets has paid the fee of a failed transaction not known here');
      return 'learned';
    }
    return 'other';
  }

  /** @returns null if the nodes do not show it now */
  async function whoUsed(payer: string, nonce: number, before: string | null): Promise<Unknown | null> {
    const name = `${payer} ${nonce}`;
    const known = users.get(name);
    if (known) return known;
    const spent = await patiently(() => node.usedBy(payer, nonce, before ?? undefined));
    if (!spent) return null;
    const user = { payer, tx: spent.tx, hasFailed: spent.tokens.length === 0 && spent.native === null };
    if (users.size >= REMEMBERED_MAX) users.clear();
    users.set(name, user);
    return user;
  }

  /** A node that cannot tell now is asked again; payouts go on meanwhile. */
  async function patiently<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Fault) || endsLease(error)) throw error;
      log.info({ code: error.code, reason: error.message }, 'what left one of our wallets is not clear yet');
      return null;
    }
  }

  return {
    async learn(transfers) {
      if (transfers.length === 0 || clock.nowMs() < askedAtMs + ASK_MS_MIN) return 0;
      let judged = 0;
      for (const { id: transferId, from: payer, to, tx } of transfers) {
        // What a wallet sent to itself is a fee that moved nothing.
        const found = await patiently(() => learnOne({ payer, tx, hasFailed: to === payer, transferId }));
        if (found === 'other') await database.recordOutgoing(transferId);
        if (found !== null) judged++;
      }
      // What follows is not kept waiting by what the nodes have shown.
      if (judged === 0) askedAtMs = clock.nowMs();
      return judged;
    },
    async learnNumbers(payer, finalNonce) {
      const known = await database.nextNonce(network.key, payer);
      if (!known) return false;
      const end = Math.min(finalNonce, known.nonce + NUMBERS_MAX);
      let before = known.lastTx;
      for (let { nonce } = known; nonce < end; nonce++) {
        const name = `${payer} ${nonce}`;
        const other = others.get(name);
        // A merchant may request the refund again for which it was.
        const unknown = other?.hasFailed === false ? null : (other ?? (await whoUsed(payer, nonce, before)));
        const found = unknown && (await patiently(() => learnOne(unknown)));
        // The wallet goes on only after all numbers before.
        if (found === null && !other) return false;
        if (unknown && found === 'other') others.set(name, unknown);
        before = (unknown ?? other)?.tx ?? null;
      }
      return end < finalNonce && ((await database.nextNonce(network.key, payer))?.nonce ?? 0) >= end;
    },
  };
}

/** Returns whether the signer's own wallets are those of a transaction: the database alone does not say so. */
const isSame = (draft: SpendDraft, { to, owners }: PlainTransfer): boolean =>
  draft.to === to && draft.owners.join() === owners.map(({ key }) => key).join();
