/**
 * What refunds would cost now, before anything is spent: all of a network that wait, or one that is to be approved.
 * @module
 */
import type { PayoutNode, Quote } from '../../src/chains/spend.ts';
import { isPayback, type PaybackIntent } from '../../src/core/intent.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { type Loan, type LoanPrice, loanIn, plannedLoans, priceLoan } from './refund-loans.ts';
import type { PayoutWallets } from './wallets.ts';

/** Refunds and returns that are priced; each takes a few requests to the node. */
const PRICED_MAX = 200;

/** Amounts are base units of the native coin. */
export type RefundCosts = Readonly<{
  /** How many wait; `isMore`: these are only the newest. */
  count: number;
  isMore: boolean;
  /** What those that could be sent now likely cost the refund wallet, with what each is lent. */
  costUnits: bigint;
  /** See `Quote`, summed up. */
  depositUnits: bigint;
  /** The same; null where a stake serves nothing. */
  ways: Readonly<{ burnedUnits: bigint; stakeUnits: bigint; bandwidth: Bandwidth }> | null;
  /** Energy that the gas wallet lends; null where none of them lacks any. */
  lending: Lending | null;
  /** Those that would not be sent now, and why the first of each reason would not. */
  refused: readonly Readonly<{ code: string; message: string; count: number }>[];
}>;

/** The part of the cost that is for bytes, if none are free, and the stake whose bandwidth of a day serves them. */
type Bandwidth = Readonly<{ burnedUnits: bigint; stakeUnits: bigint }>;

/**
 * `count` of the refunds are lent energy, by a stake of `stakeUnits` in all, and `costUnits` is what the gas wallet
 * pays for the loans' transactions. `others` are not; `whyNot` says why of the first, and `missingUnits` which stake it
 * takes.
 */
export type Lending = Readonly<{
  count: number;
  stakeUnits: bigint;
  costUnits: bigint;
  others: number;
  whyNot: string | null;
  missingUnits: bigint;
}>;

type Asked = Readonly<{
  node: Pick<PayoutNode, 'quote'>;
  wallets: Pick<PayoutWallets, 'draft' | 'indexOf'>;
  database: Pick<Database, 'listPayouts'>;
}>;

/** A refund's quote, and what the loan for it costs; null if it needs none. */
type Priced = Readonly<{ quote: Quote; loan: (Loan & LoanPrice) | null }>;

/**
 * Prices the waiting refunds and returns of a network.
 * @throws Fault of the node or the signer
 */
export async function priceRefunds(network: NetworkKey, asked: Asked): Promise<RefundCosts> {
  const listed = [];
  for (const kind of ['refund', 'return'] as const) {
    listed.push(...(await asked.database.listPayouts({ network, kind, state: 'waiting', limit: PRICED_MAX + 1 })));
  }
  const priced: Priced[] = [];
  let lentUnits = 0n;
  for (const { intent } of listed.slice(0, PRICED_MAX)) {
    if (!isPayback(intent)) continue;
    const one = await priceOne({ intent }, lentUnits, asked);
    if (one.loan?.whyNot === null) lentUnits += one.loan.units;
    priced.push(one);
  }
  return { ...summed(priced), isMore: listed.length > PRICED_MAX };
}

export type PricedRefund = Readonly<{ intent: PaybackIntent }>;

/**
 * Prices one refund or return, whether or not it waits to be sent.
 * @throws Fault of the node or the signer
 */
export async function priceRefund(refund: PricedRefund, asked: Asked): Promise<RefundCosts> {
  const { network, id } = refund.intent;
  const lentUnits = await plannedLoans(network, asked.database, id);
  return { ...summed([await priceOne(refund, lentUnits, asked)]), isMore: false };
}

/** @param lentUnits what others are lent before */
async function priceOne({ intent }: PricedRefund, lentUnits: bigint, asked: Asked): Promise<Priced> {
  const quote = await asked.node.quote(await asked.wallets.draft(intent), null, []);
  const loan = loanIn(quote);
  return { quote, loan: loan && { ...loan, ...(await priceLoan(intent, loan, lentUnits, asked)) } };
}

/** Returns what the refund wallet pays, with the loan if it is made; null if it would not be sent. */
function feeOf({ quote, loan }: Priced): bigint | null {
  const isLent = loan?.whyNot === null;
  if (quote.kind === 'refused') return isLent ? (quote.loan?.feeUnits ?? 0n) : null;
  return quote.feeUnits - (isLent ? (loan.savedUnits ?? 0n) : 0n);
}

function summed(all: readonly Priced[]): Omit<RefundCosts, 'isMore'> {
  let costUnits = 0n;
  let depositUnits = 0n;
  const refused = new Map<string, RefundCosts['refused'][number]>();
  for (const one of all) {
    const fee = feeOf(one);
    costUnits += fee ?? 0n;
    if (one.quote.kind === 'quoted') depositUnits += one.quote.depositUnits ?? 0n;
    else if (fee === null) {
      const { code, message } = one.quote;
      refused.set(code, { code, message, ...refused.get(code), count: (refused.get(code)?.count ?? 0) + 1 });
    }
  }
  const sums = { ways: waysOf(all), lending: lendingOf(all) };
  return { count: all.length, costUnits, depositUnits, ...sums, refused: [...refused.values()] };
}

function waysOf(all: readonly Priced[]): RefundCosts['ways'] {
  const nothing = { burnedUnits: 0n, stakeUnits: 0n, bandwidth: { burnedUnits: 0n, stakeUnits: 0n } };
  let sum: typeof nothing | null = null;
  for (const { quote } of all) {
    if (quote.kind !== 'quoted' || !quote.ways || quote.ways.stakeUnits === null) continue;
    const { burnedUnits, stakeUnits, bandwidth } = quote.ways;
    const before: typeof nothing = sum ?? nothing;
    sum = {
      burnedUnits: before.burnedUnits + burnedUnits,
      stakeUnits: before.stakeUnits + stakeUnits,
      bandwidth: {
        burnedUnits: before.bandwidth.burnedUnits + bandwidth.burnedUnits,
        stakeUnits: before.bandwidth.stakeUnits + (bandwidth.stakeUnits ?? 0n),
      },
    };
  }
  return sum;
}

function lendingOf(all: readonly Priced[]): Lending | null {
  const loans = all.flatMap(({ loan }) => loan ?? []);
  const lent = loans.filter(({ whyNot }) => whyNot === null);
  const [first] = loans.filter(({ whyNot }) => whyNot !== null);
  if (loans.length === 0) return null;
  return {
    count: lent.length,
    stakeUnits: lent.reduce((sum, { units }) => sum + units, 0n),
    costUnits: lent.reduce((sum, loan) => sum + loan.costUnits, 0n),
    others: loans.length - lent.length,
    whyNot: first?.whyNot ?? null,
    missingUnits: first?.missingUnits ?? 0n,
  };
}
