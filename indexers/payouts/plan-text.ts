/**
 * Sweep plans with amounts and addresses as text.
 * @module
 */
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { formatUnits, MINOR_DECIMALS, parToUnitsCeil } from '../../src/core/money.ts';
import { costParOf, type LeftReason, ownersOf, unitsOfGroup } from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { SweepWays } from './sweep-costs.ts';
import type { PricedSweep, SweepPlan } from './sweeper.ts';
import type { RefundCosts } from './waiting-refunds.ts';

/** A network's plan, or why there is none. */
export type NetworkPlan = Readonly<
  { network: NetworkConfig } & (
    | { plan: SweepPlan; refunds: RefundCosts }
    | { problem: Readonly<{ code: string; message: string }> }
  )
>;

export const leftTexts: Readonly<Record<LeftReason, string>> = {
  too_small: 'too little, and not old enough',
  too_dear: 'the cost would be too large a share',
  in_flight: 'a sweep is in progress',
  not_ours: 'NOT AN ADDRESS OF THE SIGNER',
  refused: 'would fail now',
  later: 'next round',
};

export const share = (ppm: bigint | null): string | null =>
  ppm === null ? null : `${(Number(ppm) / 10_000).toFixed(2)} %`;
export const whyOf = ({ group: { due } }: PricedSweep): string =>
  [...new Set(due.map(({ why }) => why))].sort().join(', ');

export const addressOf = ({ family }: NetworkConfig, key: string): string => chains[family].address.format(key);

/** Returns the totals by currency as one text. */
export function sums(
  network: NetworkConfig,
  parts: readonly Readonly<{ currency: Currency; units: bigint }>[],
): string {
  const totals = new Map<Currency, bigint>();
  for (const { currency, units } of parts) totals.set(currency, (totals.get(currency) ?? 0n) + units);
  return [...totals].map(([currency, units]) => coinText([network], network.key, currency, units)).join(' and ');
}

/** Returns a plan for programs, with amounts and addresses as text. */
export function planJson(planned: NetworkPlan) {
  const { network } = planned;
  if ('problem' in planned) return { network: network.key, problem: planned.problem };
  const { plan, refunds } = planned;
  const amount = (currency: Currency, units: bigint) => coinText([network], network.key, currency, units);
  return {
    network: network.key,
    treasury: addressOf(network, plan.treasury),
    sweeps: plan.sweeps.map((one) => ({
      id: one.sweep.id,
      amount: amount(one.group.currency, unitsOfGroup(one.group)),
      addresses: ownersOf(one.group).map(({ key }) => addressOf(network, key)),
      why: whyOf(one),
      likely_cost: nativeText(network, one.costUnits),
      cost_share: share(one.sharePpm),
      gas: one.needs.before.map(({ form, units }) => ({ form, amount: nativeText(network, units) })),
      ...(one.ways && { ways: waysJson(network, one.ways) }),
    })),
    left: plan.left.map(({ owner, why, detail = null }) => ({
      address: addressOf(network, owner.key),
      amount: amount(owner.currency, owner.units),
      why,
      detail,
    })),
    total: sums(
      network,
      plan.sweeps.map(({ group }) => ({ currency: group.currency, units: unitsOfGroup(group) })),
    ),
    total_likely_cost: nativeText(network, costOf(plan)),
    refunds: refundsJson(network, refunds),
  };
}

const refundsJson = (network: NetworkConfig, costs: RefundCosts) => ({
  waiting: costs.count,
  more: costs.isMore,
  ...costsJson(network, costs),
});

/** Returns what refunds cost for programs, with amounts as text. */
export const costsJson = (
  network: NetworkConfig,
  { costUnits, depositUnits, ways, lending, refused }: RefundCosts,
) => ({
  likely_cost: nativeText(network, costUnits),
  likely_cost_value: valueText(network, costUnits),
  ...(depositUnits > 0n && { deposits: nativeText(network, depositUnits) }),
  ...(ways && {
    ways: {
      burning: { cost: nativeText(network, ways.burnedUnits) },
      stake: nativeText(network, ways.stakeUnits),
      bandwidth: {
        cost: nativeText(network, ways.bandwidth.burnedUnits),
        stake: nativeText(network, ways.bandwidth.stakeUnits),
      },
    },
  }),
  ...(lending && {
    lending: {
      refunds: lending.count,
      stake: nativeText(network, lending.stakeUnits),
      cost: nativeText(network, lending.costUnits),
      others: lending.others,
      why_not: lending.whyNot,
      missing_stake: nativeText(network, lending.missingUnits),
    },
  }),
  refused,
});

/** Says what the waiting refunds would cost, and each way of paying for them, as sentences; none if none waits. */
export function refundSentences(network: NetworkConfig, costs: RefundCosts): string[] {
  const { count, isMore, costUnits, refused } = costs;
  if (count === 0) return [];
  const number = isMore ? `more than ${count}` : String(count);
  return [
    `${number} refund(s) wait, for about ${pricedText(network, costUnits)} of the refund wallet`,
    ...waySentences(network, costs, 'all of them', 'them'),
    ...refused.map((one) => `${one.count} of them would not be sent now: ${one.message}`),
  ];
}

/** Says what sending one refund costs now, and each way of paying for it, as sentences. */
export function priceSentences(network: NetworkConfig, costs: RefundCosts): string[] {
  const [refused] = costs.refused;
  if (refused) {
    return [`price unknown: it would not be sent now: ${refused.message}`, ...lendingSentences(network, costs)];
  }
  return [
    `sending it now costs about ${pricedText(network, costs.costUnits)} of the refund wallet`,
    ...waySentences(network, costs, 'it', 'it'),
  ];
}

/** Says what lending costs the gas wallet, or why it lends nothing. */
function lendingSentences(network: NetworkConfig, { count, lending }: RefundCosts): string[] {
  if (!lending) return [];
  const { stakeUnits, costUnits, missingUnits, others, whyNot } = lending;
  const text = (some: number) => (count === 1 ? 'it is' : `${some} of them ${some === 1 ? 'is' : 'are'}`);
  const stake = nativeText(network, stakeUnits);
  const cost = costUnits === 0n ? 'free' : `${pricedText(network, costUnits)} for the transactions of the loan`;
  const more = missingUnits > 0n ? `${nativeText(network, missingUnits)} more stake is needed (${whyNot})` : whyNot;
  return [
    ...(lending.count > 0
      ? [`${text(lending.count)} lent energy from the gas wallet's stake, ${stake} for some minutes: ${cost}`]
      : []),
    ...(others > 0 ? [`${text(others)} not lent energy: ${more}`] : []),
  ];
}

function waySentences(network: NetworkConfig, costs: RefundCosts, all: string, one: string): string[] {
  const { ways, depositUnits } = costs;
  return [
    ...lendingSentences(network, costs),
    ...(depositUnits > 0n
      ? [
          `of that, ${pricedText(network, depositUnits)} are deposits of accounts on the chain, such as the lock of a refund`,
        ]
      : []),
    ...(ways
      ? [
          `if the refund wallet burns coins for ${all}: ${pricedText(network, ways.burnedUnits)}`,
          `if it has a stake for energy, its own or lent to it: ${nativeText(network, ways.stakeUnits)} serves ${one} within a day, and none is spent`,
          `of what it burns, ${pricedText(network, ways.bandwidth.burnedUnits)} are for bandwidth, if no free bytes are left; that is not lent, but a stake of its own for bandwidth, ${nativeText(network, ways.bandwidth.stakeUnits)}, serves ${one} within a day`,
        ]
      : []),
  ];
}

const waysJson = (network: NetworkConfig, { burnedUnits, lentUnits, lendingUnits }: SweepWays) => ({
  burning: burnedUnits === null ? null : { cost: nativeText(network, burnedUnits) },
  lending: {
    stake: nativeText(network, lentUnits),
    cost: lendingUnits === null ? null : nativeText(network, lendingUnits),
  },
});

export const costOf = ({ sweeps }: SweepPlan): bigint => sweeps.reduce((sum, { costUnits }) => sum + costUnits, 0n);
export const nativeText = (network: NetworkConfig, units: bigint): string =>
  coinText([network], network.key, 'native', units);

/** Returns what an amount of the native coin is worth, such as `3.61 USD`; null without `sweep.native_price`. */
function valueText({ family, sweep }: NetworkConfig, units: bigint): string | null {
  const par = costParOf(units, chains[family].spendRules.nativeDecimals, sweep);
  return par === null
    ? null
    : `${formatUnits(parToUnitsCeil(par, MINOR_DECIMALS), MINOR_DECIMALS, MINOR_DECIMALS)} USD`;
}

function pricedText(network: NetworkConfig, units: bigint): string {
  const value = valueText(network, units);
  return value === null ? nativeText(network, units) : `${nativeText(network, units)} (${value})`;
}
