/**
 * The balances of the signer's own wallets: read every minute for `status`, metrics, the alarm of one that is low, and
 * the comparison with the books.
 */
import type { PayoutNode, SpendDraft, WalletBalance } from '../../src/chains/spend.ts';
import { isPayback } from '../../src/core/intent.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { WAIT_MS_MAX } from '../../src/core/payout.ts';
import { isRefused, type Quote } from '../../src/core/spend.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { SignerWallets } from '../../src/signer/signer.ts';

const READ_MS = 60_000;
/** A payout that waits is quoted again within this time; without a newer quote, what it lacked no longer counts. */
const SHORT_MS_MAX = WAIT_MS_MAX + READ_MS;
/** A wallet that cannot pay for this many more payouts is low. */
const PAYOUTS_AHEAD = 10n;

const roles = ['refund', 'gas'] as const;
type Role = (typeof roles)[number];
type Shortage = Readonly<{ asset: Asset; atMs: number }>;

interface BalanceWatch {
  /** Learns from a quote what payouts cost now, and what is short. */
  recordQuote(draft: SpendDraft, quote: Quote): void;
  /** Makes the next `renew` read at once: a payout has ended, so the balances have changed. */
  expire(): void;
  /** Reads the balances if they are due. A fault of the node is the caller's. */
  renew(wallets: SignerWallets): Promise<void>;
}

export function createBalanceWatch(
  parts: Readonly<{
    network: NetworkKey;
    node: Pick<PayoutNode, 'balance'>;
    database: Pick<Database, 'recordBalance' | 'compareBooks'>;
    /** Where transactions are counted, native coin is watched by that. */
    comparesNative: boolean;
    clock: Clock;
    roleOf: (draft: SpendDraft) => string;
  }>,
): BalanceWatch {
  const { network, node, database, comparesNative, clock, roleOf } = parts;
  const feeUnitsMax = new Map<string, bigint>();
  /** The payouts whose newest quote said that the wallet is short, and of what. */
  const short: Record<Role, Map<string, Shortage>> = { refund: new Map(), gas: new Map() };
  let readAtMs = Number.NEGATIVE_INFINITY;

  function lowAssets(role: Role, { native }: WalletBalance): Asset[] {
    const needed = (feeUnitsMax.get(role) ?? 0n) * PAYOUTS_AHEAD;
    for (const [id, { atMs }] of short[role]) if (clock.nowMs() > atMs + SHORT_MS_MAX) short[role].delete(id);
    const low = new Set([...short[role].values()].map(({ asset }) => asset));
    if (native < needed) low.add('native');
    return [...low].sort();
  }

  return {
    recordQuote(draft, quote) {
      const role = roleOf(draft);
      if (!isRefused(quote)) feeUnitsMax.set(role, quote.feeUnitsMax);
      if (role !== 'refund' && role !== 'gas') return;
      const asset = shortAsset(draft, quote);
      if (asset) short[role].set(draft.intent.id, { asset, atMs: clock.nowMs() });
      else short[role].delete(draft.intent.id);
    },
    expire() {
      readAtMs = Number.NEGATIVE_INFINITY;
    },
    async renew(wallets) {
      const nowMs = clock.nowMs();
      if (nowMs < readAtMs + READ_MS) return;
      readAtMs = nowMs;
      const sums: Partial<Record<Asset, bigint>> = {};
      const read = async (key: string): Promise<WalletBalance> => {
        const held = await node.balance(key);
        const counted = comparesNative ? { ...held.tokens, native: held.native } : held.tokens;
        for (const [asset, units] of Object.entries(counted) as [Asset, bigint][])
          sums[asset] = (sums[asset] ?? 0n) + units;
        return held;
      };
      for (const { role, key, isFormer } of hotWalletsOf(wallets)) {
        const held = await read(key);
        await database.recordBalance({
          network,
          role,
          key,
          isFormer,
          units: { native: held.native, ...held.tokens },
          low: isFormer ? [] : lowAssets(role, held),
          readAtMs: nowMs,
        });
      }
      await database.compareBooks({ network, heldUnits: sums, feeUnitsMax: wallets.feeUnitsMax, nowMs });
    },
  };
}

/** Returns the wallets that pay, and the former ones: the books have what all of them hold together. */
const hotWalletsOf = ({ former, ...own }: SignerWallets) => [
  ...roles.map((role) => ({ role, key: own[role], isFormer: false })),
  ...former.map(({ role, key }) => ({ role, key, isFormer: true })),
];

/** Returns what a quote says that the paying wallet lacks; null if nothing. */
function shortAsset({ intent }: SpendDraft, quote: Quote): Asset | null {
  if (!isRefused(quote)) return null;
  if (quote.refused === 'native_short') return 'native';
  return quote.refused === 'token_short' && isPayback(intent) ? intent.currency : null;
}
