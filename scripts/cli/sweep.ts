/** Plans sweeps of deposit addresses to the treasury, which the server makes. */
import { readOwners } from '../../indexers/payouts/sweep-watch.ts';
import { createSweeper, type SweepPlan } from '../../indexers/payouts/sweeper.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import type { Currency } from '../../src/core/transfer.ts';
import { type Command, dryRunOption } from './command.ts';
import { networkOf } from './networks.ts';
import { shownPayout, withPayoutAccess } from './payouts.ts';
import { listLines, recordLines } from './table.ts';
import { agree, yesOption } from './terminal.ts';

export const sweep: Command = {
  name: 'sweep',
  args: '<network>',
  summary: 'Sweep deposit addresses to the treasury: show what and at what cost, ask, and have the server make it.',
  options: {
    yes: yesOption,
    dryRun: dryRunOption,
  },
  run(input, installation) {
    const { database, config, clock } = installation;
    const network = networkOf(config.networks, input.args[0] ?? '');
    return withPayoutAccess(network, installation, async ({ node, signer, rules }) => {
      const sweeper = createSweeper({ network, rules, node, signer, database, clock });
      const plan = await sweeper.plan(await readOwners(network, database, clock), network.sweep);
      const json = planJson(network, plan);
      const lines = recordLines(json, { sweeps: ['amount', 'from', 'likely_cost', 'cost_share'] });
      if (input.options.dryRun === true) return { json, lines };
      if (plan.sweeps.length === 0) return { json: { plan: json, sweeps: [] }, lines };
      await agree(input, lines, 'Sweep this now?');
      const planned = await Promise.all((await sweeper.commit(plan)).map((id) => database.payouts.find(id)));
      const sweeps = planned.flatMap((payout) => (payout ? [shownPayout(payout, config)] : []));
      return {
        json: { plan: json, sweeps },
        lines:
          sweeps.length === 0
            ? ['nothing is swept: somebody else planned these sweeps meanwhile']
            : [
                ...listLines(sweeps, ['id', 'amount', 'state']),
                'the server makes them; `quayside payout list` shows their state',
              ],
      };
    });
  },
};

/** Returns a plan for programs, with amounts and addresses as text. */
function planJson(network: NetworkConfig, plan: SweepPlan) {
  const { format } = chains[network.family].address;
  const amount = (asset: Currency | 'native', units: bigint) => coinText([network], network.key, asset, units);
  const totals = new Map<Currency, bigint>();
  for (const { sweep } of plan.sweeps) totals.set(sweep.currency, (totals.get(sweep.currency) ?? 0n) + unitsOf(sweep));
  return {
    network: network.key,
    treasury: format(plan.treasury),
    sweeps: plan.sweeps.map(({ sweep, group, costUnits, sharePpm, before }) => ({
      id: sweep.id,
      amount: amount(sweep.currency, unitsOf(sweep)),
      addresses: group.owners.map(({ key }) => format(key)),
      from: group.owners.length,
      likely_cost: amount('native', costUnits),
      cost_share: sharePpm === null ? null : `${(Number(sharePpm) / 10_000).toFixed(2)} %`,
      gas: before.map(({ form, units }) => ({ form, amount: amount('native', units) })),
    })),
    left: plan.left.map(({ owner, why, detail = null }) => ({
      address: format(owner.key),
      amount: amount(owner.currency, owner.units),
      why,
      detail,
    })),
    total: [...totals].map(([currency, units]) => amount(currency, units)).join(' and ') || 'nothing to sweep',
    total_likely_cost: amount(
      'native',
      plan.sweeps.reduce((sum, { costUnits }) => sum + costUnits, 0n),
    ),
  };
}
