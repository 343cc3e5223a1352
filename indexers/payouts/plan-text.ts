/**
 * Sweep plans with amounts and addresses as text.
 */
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type LeftReason, ownersOf, unitsOfGroup } from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { SweepWays } from './sweep-costs.ts';
import type { PricedSweep, SweepPlan } from './sweeper.ts';

/** A network's plan, or why there is none. */
export type NetworkPlan = Readonly<
  { network: NetworkConfig } & ({ plan: SweepPlan } | { problem: Readonly<{ code: string; message: string }> })
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
  const { plan } = planned;
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
  };
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
