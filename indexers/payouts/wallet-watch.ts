/**
 * Watches our own wallets for transfers that no attempt explains. A database that was restored from a backup lacks its
 * newest attempts, and a key may be stolen.
 *
 * After each start, nothing is signed until the follower has read all blocks of that moment, at finality. A payment by
 * an earlier run that this database lacks then freezes the network.
 *
 * The wallets' balances are read every minute for `status`, metrics, and the alarm of a low wallet. Where transactions
 * have no nonces, native coin is compared with the books.
 */
import type { SpendDraft } from '../../src/chains/spend.ts';
import { invariant } from '../../src/core/fault.ts';
import { type HotRole, hotRoles, type Intent, isPayback } from '../../src/core/intent.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { WAIT_MS_MAX } from '../../src/core/payout.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import { isRefused, type Quote } from '../../src/core/spend.ts';
import type { SignerWallets } from '../../src/signer/protocol.ts';
import type { PayerOptions } from './nodes.ts';
import type { PayoutWallets } from './wallets.ts';

/** Interval of the comparisons of a wallet's used nonces with those given out here. */
const COUNT_MS_MIN = 10_000;

export function createWalletWatch(parts: PayerOptions & Readonly<{ wallets: PayoutWallets }>) {
  const { network, rules, node, chainNode, database, wallets, clock } = parts;
  /** The block that must be final and read before anything is signed; null until it is known. */
  let startNumber: number | null = null;
  let isRead = false;
  let countedAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = clock.nowMs();

  /**
   * Returns the number of the block that must be read first. Where transactions have nonces, it is the final block,
   * because the next attempt excludes any other transaction with its nonce. Where they expire, it is the head.
   */
  async function begin(): Promise<number> {
    await database.wallets.recordOwn(network.key, await wallets.own());
    const [head, final] = await Promise.all([chainNode.head(), chainNode.finalized()]);
    const finalNumber = final?.number ?? Math.max(0, head.number - network.reorgDepthMax);
    return rules.lane === 'expiry' ? head.number : finalNumber;
  }

  const readFloor = async (): Promise<number> => (await database.networks.find(network.key))?.floor ?? 0;

  /** Freezes the network if a node counts nonces of the refund and gas wallets that were not given out here. */
  async function compareCounts(): Promise<void> {
    if (rules.lane === 'expiry') return;
    const own = await wallets.own();
    for (const key of hotRoles.map((role) => own[role])) {
      const count = await node.count(key);
      invariant(count, `the node of ${network.key} counts transactions`);
      await database.payouts.offerNonce(network.key, key, count, clock.nowMs());
    }
  }

  /** Begins again if other wallets pay now, because they must be watched before they pay. */
  async function followRotation(): Promise<void> {
    if (clock.nowMs() < askedAtMs + COUNT_MS_MIN) return;
    if (await wallets.refresh()) [startNumber, isRead] = [null, false];
    askedAtMs = clock.nowMs();
  }

  return {
    compareCounts,
    /**
     * Judges the transfers out of the wallets since the last call.
     * @throws Fault transient `payouts_settling` until the chain of the start is read; others of node and database
     */
    async renew(): Promise<void> {
      await followRotation();
      startNumber ??= await begin();
      const floor = await readFloor();
      if (!isRead && floor < startNumber) {
        const until = `block ${startNumber} is final and read (${floor} is)`;
        throw reasonFault('payouts_settling', { network: network.key, until });
      }
      await database.wallets.judge(network.key, clock.nowMs());
      if (!isRead || clock.nowMs() >= countedAtMs + COUNT_MS_MIN) {
        await compareCounts();
        countedAtMs = clock.nowMs();
      }
      isRead = true;
    },
  };
}

const READ_MS = 60_000;
/** A waiting payout is quoted again within this time. Without a newer quote, its shortage no longer counts. */
const SHORT_MS_MAX = WAIT_MS_MAX + READ_MS;
/** A wallet is low if it cannot pay the fees of this many more payouts. */
const PAYOUTS_AHEAD = 10n;

export function createBalanceWatch(options: PayerOptions) {
  const { network, node, database, rules, clock } = options;
  // By the role of the paying wallet.
  const feeUnitsMax = new Map<string, bigint>();
  const shortAtMs = new Map<string, Partial<Record<Asset, number>>>();
  let readAtMs = Number.NEGATIVE_INFINITY;

  function lowAssets(role: HotRole, native: bigint): Asset[] {
    const short = Object.entries(shortAtMs.get(role) ?? {}) as [Asset, number][];
    const low = new Set(short.flatMap(([asset, atMs]) => (clock.nowMs() > atMs + SHORT_MS_MAX ? [] : asset)));
    if (native < (feeUnitsMax.get(role) ?? 0n) * PAYOUTS_AHEAD) low.add('native');
    return [...low].sort();
  }

  return {
    /** Takes the present cost of payouts, and any shortage, from a quote. */
    recordQuote({ intent }: SpendDraft, quote: Quote): void {
      const { role } = rules.payer(intent);
      if (!isRefused(quote)) feeUnitsMax.set(role, quote.feeUnitsMax);
      const asset = shortAsset(intent, quote);
      if (asset) shortAtMs.set(role, { ...shortAtMs.get(role), [asset]: clock.nowMs() });
    },
    /** Reads the balances if they are due. @throws Fault of the node */
    async renew({ feeUnitsMax: spentMax, ...own }: SignerWallets): Promise<void> {
      const nowMs = clock.nowMs();
      if (nowMs < readAtMs + READ_MS) return;
      readAtMs = nowMs;
      let heldUnits = 0n;
      for (const role of hotRoles) {
        const key = own[role];
        const { native, tokens } = await node.balance(key);
        heldUnits += native;
        const read = { units: { native, ...tokens }, low: lowAssets(role, native), readAtMs: nowMs };
        await database.wallets.recordBalance({ network: network.key, role, key, ...read });
      }
      // Where transactions have nonces, an unknown payment of native coin shows as an unknown nonce.
      if (rules.lane === 'sequence') return;
      await database.wallets.compareBooks({ network: network.key, heldUnits, feeUnitsMax: spentMax, nowMs });
    },
  };
}

/** Returns the asset that the paying wallet lacks according to a quote; null if it lacks none. */
function shortAsset(intent: Intent, quote: Quote): Asset | null {
  if (!isRefused(quote)) return null;
  if (quote.refused === 'native_short') return 'native';
  return quote.refused === 'token_short' && isPayback(intent) ? intent.currency : null;
}
