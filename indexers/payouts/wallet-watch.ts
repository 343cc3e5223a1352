/**
 * Watches our own wallets for what no attempt explains: a database that was restored from a backup does not know its
 * newest attempts, and a key may be stolen.
 *
 * After each start nothing is signed until the follower has read everything that was on the chain at that moment, at
 * finality: whatever an earlier run has paid, even one that this database does not know, then freezes the network.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant, transient } from '../../src/core/fault.ts';
import { hotRoles } from '../../src/core/intent.ts';
import { watchedWallets } from '../../src/core/outgoing.ts';
import { reason } from '../../src/core/reasons.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { PayoutWallets } from './wallets.ts';

/** How often the numbers that a wallet has used are compared with those given out here. */
const COUNT_MS_MIN = 10_000;

type WalletWatchParts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'reorgDepthMax'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'count'>;
  /** The follower's node: what it shows at the start must be read first. */
  chainNode: Pick<Node, 'head' | 'finalized'>;
  database: Pick<Database, 'recordOwnWallets' | 'networks' | 'judgeOutgoing' | 'offerNonce'>;
  wallets: PayoutWallets;
  clock: Clock;
}>;

interface WalletWatch {
  /**
   * Judges what has left the wallets since it was last called.
   * @returns whether other wallets pay than before: the signer's policy was changed
   * @throws Fault transient `payouts_reading` until the chain of the start has been read; others of node and database
   */
  renew(): Promise<boolean>;
  /** Freezes the network if a node counts transactions of the refund and gas wallets that are not known here. */
  compareCounts(): Promise<void>;
  /** Makes the next `renew` ask the signer at once which wallets pay. */
  expire(): void;
}

export function createWalletWatch(parts: WalletWatchParts): WalletWatch {
  const { network, rules, node, chainNode, database, wallets, clock } = parts;
  /** The block that must be final and read before anything is signed; null until the node shows it. */
  let startNumber: number | null = null;
  let isRead = false;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let countedFloor = -1;
  let askedAtMs = clock.nowMs();

  /**
   * Where transactions have nonces, only final ones can be missed: the next attempt excludes any other with its nonce.
   * Where they expire, everything that is in a block must be final first.
   */
  async function begin(): Promise<number> {
    await database.recordOwnWallets(network.key, watchedWallets(await wallets.own()));
    const [head, final] = await Promise.all([chainNode.head(), chainNode.finalized()]);
    const finalNumber = final?.number ?? Math.max(0, head.number - network.reorgDepthMax);
    return rules.lane === 'expiry' ? head.number : finalNumber;
  }

  const readFloor = async (): Promise<number> =>
    (await database.networks.list()).find((one) => one.network === network.key)?.floor ?? 0;

  async function compareCounts(): Promise<void> {
    if (rules.lane === 'expiry') return;
    for (const key of (await Promise.all(hotRoles.map(wallets.ofRole))).flat()) {
      const count = await node.count(key);
      invariant(count, `the node of ${network.key} counts transactions`);
      await database.offerNonce(network.key, key, count, clock.nowMs());
    }
  }

  /** Begins again when other wallets pay: nothing leaves them before they are watched. */
  async function followRotation(): Promise<boolean> {
    if (clock.nowMs() < askedAtMs + COUNT_MS_MIN) return false;
    const isRotated = await wallets.refresh();
    askedAtMs = clock.nowMs();
    if (isRotated) [startNumber, isRead] = [null, false];
    return isRotated;
  }

  return {
    compareCounts,
    expire() {
      askedAtMs = Number.NEGATIVE_INFINITY;
    },
    async renew() {
      const isRotated = await followRotation();
      startNumber ??= await begin();
      const floor = await readFloor();
      if (!isRead && floor < startNumber) {
        const { message } = reason('payouts_reading', { network: network.key, start: startNumber, read: floor });
        throw transient('payouts_reading', message);
      }
      await database.judgeOutgoing(network.key, clock.nowMs());
      if (!isRead || (floor !== countedFloor && clock.nowMs() >= countedAtMs + COUNT_MS_MIN)) {
        await compareCounts();
        [countedFloor, countedAtMs] = [floor, clock.nowMs()];
      }
      isRead = true;
      return isRotated;
    },
  };
}
