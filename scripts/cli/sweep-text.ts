/**
 * Sweep plans as lines for people.
 */
import {
  addressOf,
  leftTexts,
  type NetworkPlan,
  nativeText,
  planJson,
  share,
  sums,
  whyOf,
} from '../../indexers/payouts/plan-text.ts';
import type { SweepWays } from '../../indexers/payouts/sweep-costs.ts';
import type { SweepPlan } from '../../indexers/payouts/sweeper.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { unitsOfGroup } from '../../src/core/sweep.ts';

import { table } from './table.ts';

/** Says what burning coins and lending a stake would cost for all sweeps together, where a network has both ways. */
function waysLines(network: NetworkConfig, { sweeps }: SweepPlan): string[] {
  const ways = sweeps.flatMap((one) => one.ways ?? []);
  if (ways.length === 0) return [];
  const sum = (pick: (way: SweepWays) => bigint | null): string =>
    nativeText(
      network,
      ways.reduce((total, way) => total + (pick(way) ?? 0n), 0n),
    );
  const lent = ways.filter(({ lendingUnits }) => lendingUnits !== null).length;
  const cost = lent > 0 ? `, at ${sum(({ lendingUnits }) => lendingUnits)} for their transactions` : '';
  return [
    `  if the addresses burn coins: ${sum(({ burnedUnits }) => burnedUnits)}`,
    `  if they are lent a stake for some minutes: ${sum(({ lentUnits }) => lentUnits)}, of which enough for ${lent} of ${ways.length} is free now${cost}`,
  ];
}

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
    ...waysLines(network, plan),
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
