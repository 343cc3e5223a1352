/**
 * Moves between two wallets of ours that this database does not know, because it was restored from a backup: what the
 * chain shows of them is entered into the books, so that what they cost is not missing there, and the numbers that they
 * used halt no wallet.
 *
 * Whoever has stolen a key can hide nothing behind one. A transaction counts only if it is, byte for byte, what the
 * signer would have made for a move, with one transfer to a later wallet of the same role of this seed, and only with
 * the cost that each node shows of it.
 * @module
 */
import type { PayoutNode } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import { learnedMove } from '../../src/core/outgoing.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { OutgoingRecord } from '../../src/database/outgoing.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayoutWallets } from './wallets.ts';

/** How often the nodes are asked for what they did not show. */
const ASK_MS_MIN = 10_000;
/** Numbers of a wallet whose use is looked for. What has used more of them was no emptying of wallets. */
const NUMBERS_MAX = 200;
/** A search may read dozens of blocks: that is not repeated for as long as a wallet is halted. */
const SEARCHES_MAX = 5;

type Parts = Readonly<{
  network: Readonly<{ key: NetworkKey }>;
  node: Pick<PayoutNode, 'paidBy' | 'usedBy' | 'readTransfer'>;
  database: Pick<Database, 'recordMove' | 'recordOutgoing' | 'nextNonce'>;
  wallets: Pick<PayoutWallets, 'find' | 'draft'>;
  clock: Clock;
  log: Log;
}>;

export interface MoveLearner {
  /** Learns those of final transfers between our wallets that are moves; records the others as what they are. */
  learn(transfers: readonly OutgoingRecord[]): Promise<void>;
  /**
   * Learns the moves that have used numbers of a wallet which were not given out here.
   * @param finalNonce the wallet's first free number at finality
   */
  learnNumbers(payer: string, finalNonce: number): Promise<void>;
}

export function createMoveLearner({ network, node, database, wallets, clock, log }: Parts): MoveLearner {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  /** Numbers that no move has used, with their wallets. */
  const others = new Set<string>();
  /** How often the blocks after the transaction before could be searched for a number. */
  const searches = new Map<string, number>();

  /** @returns null while a node does not show the transaction, or not as final */
  async function learnOne(payer: string, tx: string): Promise<'learned' | 'other' | null> {
    const transfer = await node.readTransfer(payer, tx);
    if (transfer === null || transfer === 'other') return transfer;
    const [from, to] = [await wallets.find(payer), await wallets.find(transfer.to)];
    const intent = from && to && learnedMove(network.key, from, to, transfer);
    if (!intent) return 'other';
    const paid = await node.paidBy(await wallets.draft(intent, { payer }), tx);
    if (!paid) return null;
    const move = { intent, tx, payer, to: transfer.to, paid, nowMs: clock.nowMs() };
    if (!(await database.recordMove(move))) return 'other';
    log.warn(
      { payout: intent.id, tx },
      'coins were moved between our wallets by a transaction that was not known here',
    );
    return 'learned';
  }

  /** A node that cannot tell now is asked again; payouts go on meanwhile. */
  async function patiently<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      log.info({ code: error.code, reason: error.message }, 'what left one of our wallets is not clear yet');
      return null;
    }
  }

  return {
    async learn(transfers) {
      if (transfers.length === 0 || clock.nowMs() < askedAtMs + ASK_MS_MIN) return;
      askedAtMs = clock.nowMs();
      for (const { id, from, tx } of transfers) {
        if ((await patiently(() => learnOne(from, tx))) === 'other') await database.recordOutgoing(id);
      }
    },
    async learnNumbers(payer, finalNonce) {
      const known = await database.nextNonce(network.key, payer);
      if (!known || finalNonce - known.nonce > NUMBERS_MAX) return;
      let before = known.lastTx;
      for (let { nonce } = known; nonce < finalNonce; nonce++) {
        const name = `${payer} ${nonce}`;
        if (others.has(name)) continue;
        const count = searches.get(name) ?? 0;
        searches.set(name, count + 1);
        const after = count < SEARCHES_MAX ? (before ?? undefined) : undefined;
        const spent = await patiently(() => node.usedBy(payer, nonce, after));
        const found = spent && (await patiently(() => learnOne(payer, spent.tx)));
        // The wallet goes on only after all numbers before.
        if (!spent || found === null) return;
        if (found === 'other') others.add(name);
        before = spent.tx;
      }
    },
  };
}
