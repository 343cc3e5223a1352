/**
 * When payments are credited, as settings say it.
 */
import * as z from 'zod';
import { type CreditPolicy, type CreditTier, type Finality, finalities } from '../core/credit-policy.ts';
import { orAbsent, setting, stablecoinAmount, whole } from './setting.ts';

export const depthMax = 100_000;
const policyForms =
  '{"blocks": …}, {"finality": "finalized", "usual": …} or {"blocks": …, "finality": "finalized"}, and with ' +
  '"tiers": [{"from": "10000.00", …}] what larger amounts need besides';

const finality = setting<Finality | false>(`one of ${finalities.map((name) => `"${name}"`).join(', ')}`, (value) =>
  value === false ? false : finalities.find((known) => known === value),
);

const conditions = {
  blocks: orAbsent(whole(1, depthMax)),
  finality: orAbsent(finality),
  usual: orAbsent(whole(1, depthMax)),
};
type Conditions = z.infer<z.ZodObject<typeof conditions>>;

/** Whether the node shows blocks long before they have this finality, so that people are told how long it takes. */
const isLater = (name: Conditions['finality']): boolean => name === 'safe' || name === 'finalized';

/** Returns a tier, or what is wrong with it. */
function toTier(
  settings: Conditions,
  fromPar: bigint | undefined,
): CreditTier | Readonly<{ at: string[]; text: string }> {
  const { blocks, finality: name, usual } = settings;
  if (blocks === undefined && !name) return { at: [], text: `expected ${policyForms}` };
  if (blocks === undefined && usual === undefined && isLater(name)) {
    return { at: ['usual'], text: `missing, expected a whole number from 1 to ${depthMax}` };
  }
  return {
    ...(fromPar !== undefined && { fromPar }),
    ...(blocks !== undefined && { blocks }),
    ...(name && { finality: name }),
    ...(usual !== undefined && blocks === undefined && { usual }),
  };
}

const largerAmounts = z.array(z.strictObject({ from: stablecoinAmount, ...conditions }), { error: 'expected a list' });

export const confirmations = z
  .strictObject(
    {
      ...conditions,
      tiers: orAbsent(largerAmounts),
      confirmed_amount_max: orAbsent(stablecoinAmount),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? `expected ${policyForms}` : undefined) },
  )
  .transform((settings, context): CreditPolicy => {
    const { tiers = [], confirmed_amount_max: confirmedParMax, ...base } = settings;
    const problem = (path: PropertyKey[], message: string) => {
      context.issues.push({ code: 'custom', input: settings, path, message });
      return z.NEVER;
    };
    if (confirmedParMax !== undefined && base.blocks !== undefined) {
      return problem(['confirmed_amount_max'], 'blocks are counted here, whatever the amount: leave it out');
    }
    const policy: CreditTier[] = confirmedParMax === undefined ? [] : [{ finality: 'confirmed' }];
    const parts = [{ ...base, from: confirmedParMax && confirmedParMax + 1n }, ...tiers];
    for (const [at, { from, ...part }] of parts.entries()) {
      const path = at === 0 ? [] : ['tiers', at - 1];
      const tier = toTier(part, from);
      if ('text' in tier) return problem([...path, ...tier.at], tier.text);
      if (at > 0 && (from ?? 0n) <= (parts[at - 1]?.from ?? 0n)) {
        return problem([...path, 'from'], 'expected more than in the tier before: amounts rise from tier to tier');
      }
      policy.push(tier);
    }
    return policy;
  });
