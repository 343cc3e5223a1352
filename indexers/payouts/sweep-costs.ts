/**
 * What a sweep costs now with the gas that it needs, and whether that is worth it: the same for a plan, for what of a
 * sweep is signed later, and for more coin that it is sent.
 */
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import type { GasIntent, SweepIntent } from '../../src/core/intent.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import { divideCeil, toPar } from '../../src/core/money.ts';
import { isRefused, type Missing, type Quote, type Refused } from '../../src/core/spend.ts';
import { costSharePpm, gasIdOf, isTooDear, type SweepPolicy } from '../../src/core/sweep.ts';
import type { PlannedSweep } from '../../src/database/sweeps.ts';
import type { PayoutWallets } from './wallets.ts';

/** What a sweep needs before it, in this order, and after it. */
export type SweepNeeds = Pick<PlannedSweep, 'before' | 'after'>;

/** The likely cost of a sweep with its gas, in base units of the native coin, or why it is impossible. */
type Price = Priced | Refused;
type Priced = Readonly<{ costUnits: bigint; needs: SweepNeeds }>;

/** `sharePpm`: the cost relative to the value, in millionths; null: the coin's price is unknown. */
type Judged = Readonly<{ sharePpm: bigint | null; isTooDear: boolean }>;

/** What the swept address lacks to pay for its sweep, and what its transaction costs at most. */
type Short = Readonly<{ index: number; missing: bigint; cost: bigint; loan: Missing['loan'] }>;

/** What one plan has lent already. */
export type Round = { lentUnits: bigint };

interface SweepCosts {
  /**
   * Prices a sweep.
   * @param round what has been lent to others of the same plan; what is lent for this one is added
   * @param quote of the sweep now, if known
   * @throws Fault of the node or the signer
   */
  price(sweep: SweepIntent, round: Round, quote?: Quote): Promise<Price>;
  judge(sweep: SweepIntent, costUnits: bigint, policy: SweepPolicy): Judged;
  /** Returns what the sweep's own address lacks; null for any other quote. */
  shortOf(sweep: SweepIntent, quote: Quote): Short | null;
  /** Returns the native coin that a sweep is sent, for the n-th time. */
  coinFor(sweep: SweepIntent, short: Pick<Short, 'index' | 'missing'>, topUp: number): GasIntent;
}

/** Sends a tenth more native coin than is missing now: the price moves until the sweep is signed. */
const withMargin = (missing: bigint): bigint => divideCeil(missing * 11n, 10n);

const noNeeds: SweepNeeds = { before: [], after: null };

function shortOf(rules: SpendRules, sweep: SweepIntent, quote: Quote): Short | null {
  const payer = rules.payer(sweep);
  if (!isRefused(quote) || quote.refused !== 'native_short' || payer.role !== 'collection') return null;
  if (!quote.missing) return null;
  // Count the coin that the address holds, too: otherwise coin sent in small parts would never be too much.
  const { units: missing, costUnits: cost = missing, loan } = quote.missing;
  return { index: payer.index, missing, cost, loan };
}

export function createSweepCosts({
  network: { key, tokens },
  rules,
  node,
  wallets,
}: Readonly<{
  network: Pick<NetworkConfig, 'key' | 'tokens'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  wallets: Pick<PayoutWallets, 'draft' | 'own'>;
}>): SweepCosts {
  const gasIntent = (
    sweepId: string,
    form: GasIntent['form'],
    index: number,
    topUp: number,
    units: bigint,
  ): GasIntent => ({
    kind: 'gas',
    id: gasIdOf(sweepId, form, topUp),
    network: key,
    form,
    index,
    units,
  });

  const coinFor: SweepCosts['coinFor'] = ({ id }, { index, missing }, topUp) =>
    gasIntent(id, 'transfer', index, topUp, withMargin(missing));

  /** Plans native coin for what is missing. `cost`: of the sweep itself. */
  async function give(sweep: SweepIntent, short: Pick<Short, 'index' | 'missing' | 'cost'>): Promise<Price> {
    const gas = coinFor(sweep, short, 0);
    const quote = await node.quote(await wallets.draft(gas), null, []);
    if (isRefused(quote)) return quote;
    return { costUnits: short.cost + quote.feeUnits, needs: { before: [gas], after: null } };
  }

  /**
   * Plans a loan of the gas wallet's stake, reclaimed after the sweep, if enough of the stake is free; null otherwise.
   * Lent resources cost only the transactions around them.
   */
  async function lend(sweep: SweepIntent, { index, loan }: Short, round: Round): Promise<Price | null> {
    if (!loan) return null;
    const units = withMargin(loan.units);
    const delegate = gasIntent(sweep.id, 'delegate', index, 0, units);
    // Nothing can be lent to an address without an account; the refund wallet, which has one, is quoted instead.
    const draft = { ...(await wallets.draft(delegate)), to: (await wallets.own()).refund };
    const asked = { ...draft, intent: { ...delegate, units: round.lentUnits + units } };
    const quote = await node.quote(asked, null, []);
    if (isRefused(quote)) return null;
    const missing = loan.coinUnits;
    const coin = missing > 0n ? await give(sweep, { index, missing, cost: missing }) : null;
    if (coin && isRefused(coin)) return coin;
    round.lentUnits += units;
    const after = gasIntent(sweep.id, 'reclaim', index, 0, units);
    const before = [...(coin?.needs.before ?? []), delegate];
    return { costUnits: (coin?.costUnits ?? 0n) + 2n * quote.feeUnits, needs: { before, after } };
  }

  return {
    shortOf: (sweep, quote) => shortOf(rules, sweep, quote),
    coinFor,
    async price(sweep, round, known) {
      const quote = known ?? (await node.quote(await wallets.draft(sweep), null, []));
      if (!isRefused(quote)) return { costUnits: quote.feeUnits, needs: noNeeds };
      const short = shortOf(rules, sweep, quote);
      if (!short) return quote;
      return (await lend(sweep, short, round)) ?? give(sweep, short);
    },
    judge(sweep, costUnits, policy) {
      const token = tokens.find(({ symbol }) => symbol === sweep.currency);
      invariant(token, `${sweep.currency} is a token of ${key}`);
      const sharePpm = costSharePpm(costUnits, rules.nativeDecimals, toPar(unitsOf(sweep), token.decimals), policy);
      return { sharePpm, isTooDear: isTooDear(sharePpm, policy) };
    },
  };
}

/** Returns a share as people read it. */
export const percentOf = (ppm: bigint): string => `${Number(ppm) / 10_000} %`;
