/**
 * Sweep plans with amounts and addresses as text, for programs and as lines for people.
 */
import type { PricedSweep, SweepPlan } from '../../indexers/payouts/sweeper.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type LeftReason, ownersOf, unitsOfGroup } from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import { table } from './table.ts';

/** A network's plan, or why there is none. */
export type NetworkPlan = Readonly<
  { network: NetworkConfig } & ({ plan: SweepPlan } | { problem: Readonly<{ code: string; message: string }> })
>;

const leftTexts: Readonly<Record<LeftReason, string>> = {
  too_small: 'too little, and not old enough',
  too_dear: 'the cost would be too large a share',
  in_flight: 'a sweep is in progress',
  not_ours: 'NOT AN ADDRESS OF THE SIGNER',
  refused: 'would fail now',
  later: 'next round',
};

const share = (ppm: bigint | null): string | null => (ppm === null ? null : `${(Number(ppm) / 10_000).toFixed(2)} %`);
const whyOf = ({ group: { due } }: PricedSweep): string => [...new Set(due.map(({ why }) => why))].sort().join(', ');

const addressOf = ({ family }: NetworkConfig, key: string): string => chains[family].address.format(key);

/** Returns the totals by currency as one text. */
function sums(network: NetworkConfig, parts: readonly Readonly<{ currency: Currency; units: bigint }>[]): string {
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

const costOf = ({ sweeps }: SweepPlan): bigint => sweeps.reduce((sum, { costUnits }) => sum + costUnits, 0n);
const nativeText = (network: NetworkConfig, units: bigint): string => coinText([network], network.key, 'native', units);

/** Returns a plan as lines for people. */
export function planLines(planned: NetworkPlan): string[] {
  const { network } = planned;
  if ('problem' in planned) return [`${network.key}: ${planned.problem.message}`];
  const { plan } = planned;
  const rows = plan.sweeps.map((one) => [
    coinText([network], network.key, one.group.currency, unitsOfGroup(one.group)),
    String(one.group.due.length),
    whyOf(one),
    nativeText(network, one.costUnits),
    share(one.sharePpm) ?? 'unknown',
  ]);
  const count = plan.sweeps.length;
  const heading = ['AMOUNT', 'ADDRESSES', 'WHY', 'LIKELY COST', 'SHARE'];
  const { total, total_likely_cost } = planJson(planned);
  const isUnjudged = count > 0 && network.sweep.nativePricePar === null;
  return [
    `${network.key} to the treasury ${addressOf(network, plan.treasury)}`,
    ...(count === 0 ? ['  nothing to sweep'] : table([heading, ...rows]).map((line) => `  ${line}`)),
    ...(count === 0 ? [] : [`  total: ${total} in ${count} sweep(s), for about ${total_likely_cost}`]),
    ...(isUnjudged
      ? ['  the share is unknown: the configuration has no price of the native coin (sweep.native_price)']
      : []),
    ...leftLines(network, plan),
  ];
}

function leftLines(network: NetworkConfig, { left }: SweepPlan): string[] {
  const reasons = [...new Set(left.map(({ why, detail }) => (why === 'refused' ? `refused ${detail}` : why)))];
  return reasons.map((reason) => {
    const some = left.filter(({ why, detail }) => (why === 'refused' ? `refused ${detail}` : why) === reason);
    const [first] = some;
    const amount = sums(
      network,
      some.map(({ owner: { currency, units, openUnits } }) => ({ currency, units: units + openUnits })),
    );
    const text = first ? leftTexts[first.why] : '';
    const detail = first?.why === 'refused' || first?.why === 'not_ours' ? ` (${first.detail})` : '';
    return `  not swept: ${amount} on ${some.length} address(es): ${text}${detail}`;
  });
}
