/**
 * Watches our own wallets for what no attempt explains: a database that was restored from a backup does not know its
 * newest attempts, and a key may be stolen.
 *
 * After each start nothing is signed until the follower has read everything that was on the chain at that moment, at
 * finality: whatever an earlier run has paid, even one that this database does not know, is then found and settles its
 * refund.
 */
import type { Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant, transient } from '../../src/core/fault.ts';
import { hotRoles } from '../../src/core/intent.ts';
import { watchedWallets } from '../../src/core/outgoing.ts';
import { reason } from '../../src/core/reasons.ts';
import type { Database } from '../../src/database/database.ts';
import type { OutgoingClaim } from '../../src/database/outgoing.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { SETTLING } from './settling-in.ts';
import type { PayoutWallets } from './wallets.ts';

/** How often the numbers that a wallet has used are compared with those given out here. */
const COUNT_MS_MIN = 10_000;

type WalletWatchParts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'reorgDepthMax'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'paidBy' | 'count' | 'balance'>;
  /** The follower's node: what it shows at the start must be read first. */
  chainNode: Pick<Node, 'head' | 'finalized'>;
  database: Pick<
    Database,
    'recordOwnWallets' | 'networks' | 'judgeOutgoing' | 'settleByTransfer' | 'nextNonce' | 'offerNonce'
  >;
  wallets: PayoutWallets;
  /**
   * Reads the signer's journal: what it names is adopted, not settled by the chain.
   * @throws Fault permanent `payouts_not_adopted`
   */
  followJournal(): Promise<void>;
  clock: Clock;
  log: Log;
}>;

interface WalletWatch {
  /**
   * Judges what has left the wallets since it was last called.
   * @returns whether other wallets pay than before: the signer's policy was changed
   * @throws Fault transient `payouts_reading` until the chain of the start has been read; others of node and database
   */
  renew(): Promise<boolean>;
  /**
   * Asks every node for transactions of the refund and gas wallets that are on their way and not known here.
   * @throws Fault transient `payouts_settling` if there are
   */
  refusePending(): Promise<void>;
  /** Makes the next `renew` ask the signer at once which wallets pay. */
  expire(): void;
}

/** What the node showed when this run started. */
type Start = Readonly<{
  /** The block that must be final for us before anything is signed. */
  number: number;
  /** The numbers that each wallet had used; null where there are none. */
  counts: ReadonlyMap<string, number | Readonly<{ head: number }>>;
}>;

export function createWalletWatch(parts: WalletWatchParts): WalletWatch {
  const { network, rules, node, chainNode, database, wallets, followJournal, clock, log } = parts;
  let start: Start | null = null;
  let isRead = false;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let countedFloor = -1;
  let askedAtMs = clock.nowMs();

  async function readCounts(): Promise<Start['counts']> {
    const counts = new Map<string, number | Readonly<{ head: number }>>();
    if (rules.lane === 'expiry') return counts;
    for (const key of (await Promise.all(hotRoles.map(wallets.ofRole))).flat()) {
      const count = await node.count(key);
      invariant(count, `the node of ${network.key} counts transactions`);
      counts.set(key, count.final ?? { head: count.head });
    }
    return counts;
  }

  /**
   * Where transactions use up numbers, only final ones can be missed: the next attempt excludes any other with its
   * number. Where they expire, everything that is in a block must be final first.
   */
  async function begin(): Promise<Start> {
    await database.recordOwnWallets(network.key, watchedWallets(await wallets.own()));
    const counts = await readCounts();
    const [head, final] = await Promise.all([chainNode.head(), chainNode.finalized()]);
    const finalNumber = final?.number ?? Math.max(0, head.number - network.reorgDepthMax);
    return { number: rules.lane === 'expiry' ? head.number : finalNumber, counts };
  }

  const readFloor = async (): Promise<number> =>
    (await database.networks.list()).find((one) => one.network === network.key)?.floor ?? 0;

  async function compareCounts(counts: Start['counts']): Promise<void> {
    for (const [key, seen] of counts) {
      await database.offerNonce(network.key, key, seen, clock.nowMs());
    }
  }

  async function settle({ transfer, payout }: OutgoingClaim): Promise<void> {
    const { tx } = transfer;
    const paid = await node.paidBy(await wallets.draft(payout.intent, { payer: transfer.from }), tx);
    if (!paid) return;
    await followJournal();
    const settling = { transferId: transfer.id, payoutId: payout.id, paid, nowMs: clock.nowMs() };
    if (!(await database.settleByTransfer(settling))) return;
    log.warn({ payout: payout.id, tx }, 'a refund was already paid by a transaction that was not known here');
  }

  async function judge(): Promise<void> {
    for (const claim of await database.judgeOutgoing(network.key, clock.nowMs())) await settle(claim);
  }

  /** Begins again when other wallets pay: nothing leaves them before they are watched. */
  async function followRotation(): Promise<boolean> {
    if (clock.nowMs() < askedAtMs + COUNT_MS_MIN) return false;
    const isRotated = await wallets.refresh();
    askedAtMs = clock.nowMs();
    if (isRotated) [start, isRead] = [null, false];
    return isRotated;
  }

  return {
    refusePending: async () => refusePending(parts, await readCounts()),
    expire() {
      askedAtMs = Number.NEGATIVE_INFINITY;
    },
    async renew() {
      const isRotated = await followRotation();
      start ??= await begin();
      const floor = await readFloor();
      if (!isRead && floor < start.number) {
        throw transient(
          'payouts_reading',
          reason('payouts_reading', { network: network.key, start: start.number, read: floor }).message,
        );
      }
      await judge();
      if (!isRead) await compareCounts(start.counts);
      isRead = true;
      if (floor !== countedFloor && clock.nowMs() >= countedAtMs + COUNT_MS_MIN) {
        await compareCounts(await readCounts());
        [countedFloor, countedAtMs] = [floor, clock.nowMs()];
      }
      return isRotated;
    },
  };
}

/** @throws Fault transient `payouts_settling` */
async function refusePending(
  { network, node, database, wallets }: WalletWatchParts,
  counts: Start['counts'],
): Promise<void> {
  for (const [key, seen] of counts) {
    const pending = (await node.count(key))?.pending ?? 0;
    const known = await database.nextNonce(network.key, key);
    const final = typeof seen === 'number' ? seen : seen.head;
    // Final ones halt the wallet.
    if (pending <= Math.max(known?.unsignedNonce ?? 0, final)) continue;
    if (await isEmptied({ node, wallets }, key)) continue;
    const wallet = chains[network.family].address.format(key);
    throw transient(
      SETTLING,
      `a node of ${network.key} has received transactions of wallet ${wallet}, through number ${pending - 1}, that are ` +
        'not known here: payouts wait until they are final',
    );
  }
}

/** Whether a former wallet holds no tokens any more: nothing of it on its way can pay a refund. */
async function isEmptied({ node, wallets }: Pick<WalletWatchParts, 'node' | 'wallets'>, key: string): Promise<boolean> {
  if (!(await wallets.own()).former.some((one) => one.key === key)) return false;
  const { tokens } = await node.balance(key);
  return Object.values(tokens).every((units) => units === 0n);
}
