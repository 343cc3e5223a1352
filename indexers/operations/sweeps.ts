/**
 * Plans sweeps to be shown, and runs exactly what was shown.
 * @module
 */
import { permanent } from '../../src/core/fault.ts';
import { MINOR_DECIMALS, minorToPar, parseUnits } from '../../src/core/money.ts';
import { isAsShown, type OperationResult } from '../../src/core/operation.ts';
import type { SweepPolicy } from '../../src/core/sweep.ts';
import { costOf, leftTexts, planJson } from '../payouts/plan-text.ts';
import { createSweeper } from '../payouts/sweeper.ts';
import { readOwners } from '../payouts/unswept.ts';
import type { PayoutParts } from './parts.ts';

const ADDRESSES_SHOWN = 3;

async function planNow(parts: PayoutParts, min: string | undefined) {
  const { network, chain, database, node, signer, clock, signal, report } = parts;
  const sweeper = createSweeper({ network, rules: chain.spendRules, node, signer, database, clock });
  report('reads what the deposit addresses hold');
  const owners = await readOwners(network, database, clock, signal);
  report(`asks the node what sweeping ${owners.length} addresses costs`);
  return { sweeper, plan: await sweeper.plan(owners, policyOf(network.sweep, min)) };
}

/** @throws Fault permanent `refused` if `min` is no amount */
function policyOf(sweep: SweepPolicy, min: string | undefined): SweepPolicy {
  if (min === undefined) return sweep;
  const minor = parseUnits(min, MINOR_DECIMALS);
  if (minor === null) throw permanent('refused', `“${min}” is no amount of stablecoins such as 5.00`);
  return { ...sweep, minPar: minorToPar(minor) };
}

const sweepsText = (count: number): string => (count === 1 ? '1 sweep' : `${count} sweeps`);

/** Plans, and returns the plan in words with what a run is bound to. */
export async function planSweeps(parts: PayoutParts, min?: string): Promise<OperationResult> {
  const { network } = parts;
  const { plan } = await planNow(parts, min);
  const text = planJson({ network, plan });
  const { sweeps = [], left = [], treasury, total, total_likely_cost: cost } = 'problem' in text ? {} : text;
  const reasons = [...new Set(left.map(({ why }) => why))];
  return {
    lines: [
      sweeps.length === 0
        ? 'Nothing is worth sweeping now.'
        : `${total} in ${sweepsText(sweeps.length)} to the treasury ${treasury}, for about ${cost}.`,
      ...reasons.map((why) => {
        const some = left.filter((one) => one.why === why);
        const [first] = some;
        const detail = first?.detail ? ` (${first.detail})` : '';
        return `Not swept: ${some.length} amounts: ${leftTexts[why]}${detail}.`;
      }),
    ],
    ...(sweeps.length > 0 && {
      table: {
        columns: ['Amount', 'Addresses', 'Why', 'Likely cost', 'Share of the amount'],
        rows: sweeps.map((one) => [
          one.amount,
          one.addresses.length <= ADDRESSES_SHOWN ? one.addresses.join(', ') : String(one.addresses.length),
          one.why,
          one.likely_cost,
          one.cost_share ?? 'unknown',
        ]),
      },
      plan: {
        treasury: plan.treasury,
        costUnits: costOf(plan).toString(),
        ids: plan.sweeps.map(({ sweep }) => sweep.id),
      },
    }),
  };
}

/**
 * Sweeps what a plan has shown: what came later, or changed since, is left for the next plan.
 * @throws Fault permanent `plan_changed` if it would go elsewhere or cost much more than was shown
 */
export async function runSweeps(parts: PayoutParts, planId: string): Promise<OperationResult> {
  const planned = await parts.database.findOperation(planId, parts.clock.nowMs());
  const shown = planned?.result?.plan;
  if (!shown || planned?.wish.kind !== 'sweep_plan')
    throw permanent('plan_changed', `${planId} is no plan that was shown`);
  const { sweeper, plan } = await planNow(parts, planned.wish.min);
  const sweeps = plan.sweeps.filter(({ sweep }) => shown.ids.includes(sweep.id));
  const now = { treasury: plan.treasury, costUnits: costOf({ ...plan, sweeps }) };
  if (!isAsShown(shown, now)) {
    throw permanent(
      'plan_changed',
      'nothing was swept: the treasury is another one, or it would cost over a quarter more than was shown. Plan again',
    );
  }
  const made = await sweeper.commit({ ...plan, sweeps });
  const gone = shown.ids.length - made.length;
  return {
    lines: [
      `${sweepsText(made.length)} ${made.length === 1 ? 'is' : 'are'} being made; the list of payouts shows how far they are.`,
      ...(gone > 0 ? [`${gone} of those that were shown are not: their addresses changed meanwhile. Plan again.`] : []),
    ],
  };
}
