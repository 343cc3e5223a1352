/**
 * What the refunds of a network that wait would cost, before anything is spent.
 * @module
 */
import type { PayoutNode, Quote } from '../../src/chains/spend.ts';
import { isPayback } from '../../src/core/intent.ts';
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
  /** See `Quote`, summed up; null where a stake serves nothing. */
  ways: Readonly<{ burnedUnits: bigint; stakeUnits: bigint }> | null;
  /** Those that would not be sent now, and why the first of each reason would not. */
  refused: readonly Readonly<{ code: string; message: string; count: number }>[];
}>;

/**
 * Prices the waiting refunds and returns of a network.
 * @throws Fault of the node or the signer
 */
export async function priceRefunds(
  network: NetworkKey,
  {
    node,
    wallets,
    database,
  }: Readonly<{
    node: Pick<PayoutNode, 'quote'>;
    wallets: Pick<PayoutWallets, 'draft'>;
    database: Pick<Database, 'listPayouts'>;
  }>,
): Promise<RefundCosts> {
  const listed = [];
  for (const kind of ['refund', 'return'] as const) {
    listed.push(...(await database.listPayouts({ network, kind, state: 'waiting', limit: PRICED_MAX + 1 })));
  }
  const quotes: Quote[] = [];
  for (const { intent, olderLock } of listed.slice(0, PRICED_MAX)) {
    if (isPayback(intent)) quotes.push(await node.quote(await wallets.draft(intent, { olderLock }), null, []));
  }
  return { ...summed(quotes), isMore: listed.length > PRICED_MAX };
}

function summed(quotes: readonly Quote[]): Omit<RefundCosts, 'isMore'> {
  let costUnits = 0n;
  let ways: RefundCosts['ways'] = null;
  const refused = new Map<string, RefundCosts['refused'][number]>();
  for (const quote of quotes) {
    if (quote.kind === 'quoted') {
      costUnits += quote.feeUnits;
      const { burnedUnits, stakeUnits } = quote.ways ?? {};
      if (burnedUnits === undefined || stakeUnits === undefined || stakeUnits === null) continue;
      const before: NonNullable<RefundCosts['ways']> = ways ?? { burnedUnits: 0n, stakeUnits: 0n };
      ways = { burnedUnits: before.burnedUnits + burnedUnits, stakeUnits: before.stakeUnits + stakeUnits };
    } else {
      const { code, message } = quote;
      refused.set(code, { code, message, ...refused.get(code), count: (refused.get(code)?.count ?? 0) + 1 });
    }
  }
  return { count: quotes.length, costUnits, ways, refused: [...refused.values()] };
}
