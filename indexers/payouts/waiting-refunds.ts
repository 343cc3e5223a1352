/**
 * What refunds would cost now, before anything is spent: all of a network that wait, or one that is to be approved.
 * @module
 */
import type { PayoutNode, Quote } from '../../src/chains/spend.ts';
import { isPayback, type PaybackIntent } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { PayoutWallets } from './wallets.ts';

/** Refunds and returns that are priced; each takes a few requests to the node. */
const PRICED_MAX = 200;

/** Amounts are base units of the native coin. */
export type RefundCosts = Readonly<{
  /** How many wait; `isMore`: these are only the newest. */
  count: number;
  isMore: boolean;
  /** The likely cost of those that could be sent now, each taken alone. */
  costUnits: bigint;
  /** See `Quote`, summed up. */
  depositUnits: bigint;
  /** The same; null where a stake serves nothing. */
  ways: Readonly<{ burnedUnits: bigint; stakeUnits: bigint }> | null;
  /** Those that would not be sent now, and why the first of each reason would not. */
  refused: readonly Readonly<{ code: string; message: string; count: number }>[];
}>;

type Asked = Readonly<{ node: Pick<PayoutNode, 'quote'>; wallets: Pick<PayoutWallets, 'draft'> }>;

/**
 * Prices the waiting refunds and returns of a network.
 * @throws Fault of the node or the signer
 */
export async function priceRefunds(
  network: NetworkKey,
  { database, ...asked }: Asked & Readonly<{ database: Pick<Database, 'listPayouts'> }>,
): Promise<RefundCosts> {
  const listed = [];
  for (const kind of ['refund', 'return'] as const) {
    listed.push(...(await database.listPayouts({ network, kind, state: 'waiting', limit: PRICED_MAX + 1 })));
  }
  const quotes: Quote[] = [];
  for (const { intent, olderLock } of listed.slice(0, PRICED_MAX)) {
    if (isPayback(intent)) quotes.push(await quoteRefund({ intent, olderLock }, asked));
  }
  return { ...summed(quotes), isMore: listed.length > PRICED_MAX };
}

/** What is priced; `olderLock` as its payout has it. */
export type PricedRefund = Readonly<{ intent: PaybackIntent; olderLock?: Payout['olderLock'] | undefined }>;

/**
 * Prices one refund or return, whether or not it waits to be sent.
 * @throws Fault of the node or the signer
 */
export const priceRefund = async (refund: PricedRefund, asked: Asked): Promise<RefundCosts> => ({
  ...summed([await quoteRefund(refund, asked)]),
  isMore: false,
});

const quoteRefund = async ({ intent, olderLock }: PricedRefund, { node, wallets }: Asked): Promise<Quote> =>
  node.quote(await wallets.draft(intent, { olderLock }), null, []);

function summed(quotes: readonly Quote[]): Omit<RefundCosts, 'isMore'> {
  let costUnits = 0n;
  let depositUnits = 0n;
  let ways: RefundCosts['ways'] = null;
  const refused = new Map<string, RefundCosts['refused'][number]>();
  for (const quote of quotes) {
    if (quote.kind === 'quoted') {
      costUnits += quote.feeUnits;
      depositUnits += quote.depositUnits ?? 0n;
      const { burnedUnits, stakeUnits } = quote.ways ?? {};
      if (burnedUnits === undefined || stakeUnits === undefined || stakeUnits === null) continue;
      const before: NonNullable<RefundCosts['ways']> = ways ?? { burnedUnits: 0n, stakeUnits: 0n };
      ways = { burnedUnits: before.burnedUnits + burnedUnits, stakeUnits: before.stakeUnits + stakeUnits };
    } else {
      const { code, message } = quote;
      refused.set(code, { code, message, ...refused.get(code), count: (refused.get(code)?.count ?? 0) + 1 });
    }
  }
  return { count: quotes.length, costUnits, depositUnits, ways, refused: [...refused.values()] };
}
