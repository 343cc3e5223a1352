/** Freezes of money out, of one network or of every network, and their end. */
import { FROZEN_BY_OPERATOR, type Freeze, needsReconcile } from '../database/payouts/holds.ts';
import { type Context, defineAct, type Field, type Refusal, refuse, say } from './act.ts';

/** Stands for every network. */
export const EVERYWHERE = 'all';

/** Returns the name of what is frozen. */
export const placeOf = ({ network }: Pick<Freeze, 'network'>): string => network ?? 'every network';

const networkField = {
  label: say('Network'),
  help: 'its key, or all',
  isArgument: true,
} as const satisfies Field;

/** Returns the key of a network; null for every network. */
function networkOf({ networks }: Context, name: string): Pick<Freeze, 'network'> | Refusal {
  if (name === EVERYWHERE) return { network: null };
  const known = networks.find(({ key }) => key === name);
  return known
    ? { network: known.key }
    : refuse('usage', say('no network {name} is configured; `quayside status` shows all', { name }));
}

export const freezeMoneyOut = defineAct({
  name: 'payout freeze',
  summary: 'Stop money out at once, on one network or on all: nothing is signed or sent until it is thawed.',
  needs: 'installation:manage',
  asks: 'confirmation',
  reason: 'required',
  fields: { network: networkField },
  plan: async (context, { network }) => networkOf(context, network),
  review: (place) => ({
    title: say('Freeze money out on {place}?', { place: placeOf(place) }),
    target: placeOf(place),
    facts: [],
    notes: [say('Nothing is signed or sent until the freeze is ended. What nodes have already is watched to its end.')],
    button: say('Freeze it'),
    isDangerous: true,
  }),
  async run({ database, act }, { network }) {
    const reason = act.reason ?? '';
    const freeze = { network, code: FROZEN_BY_OPERATOR, reason, frozenBy: act.operator, sinceMs: act.atMs };
    const isNew = await database.holds.freeze(freeze, act);
    const said = isNew
      ? say('Money out is frozen on {place}.', { place: placeOf({ network }) })
      : say('It was frozen already.');
    return { said, json: { network, frozen: true, changed: isNew } };
  },
});

export const thawMoneyOut = defineAct({
  name: 'payout thaw',
  summary: 'End a freeze by an operator or a restore.',
  needs: 'installation:manage',
  asks: 'second factor',
  reason: 'required',
  fields: { network: networkField, cause: { label: say('Cause'), help: 'its code', isRequired: true } },
  async plan(context, { network: name, cause }): Promise<Freeze | Refusal> {
    const place = networkOf(context, name);
    if ('refusal' in place) return place;
    const isIt = (one: Freeze) => one.network === place.network && one.code === cause && !needsReconcile(one);
    return (await context.database.holds.list()).find(isIt) ?? refuse('refused', say('That freeze is over.'));
  },
  review: (freeze) => ({
    title: say('End the freeze of {place}?', { place: placeOf(freeze) }),
    target: placeOf(freeze),
    facts: [
      [say('Frozen by'), freeze.frozenBy],
      [say('Because'), freeze.reason],
      [say('Since'), { atMs: freeze.sinceMs }],
    ],
    notes: [say('Payouts that wait are signed and sent again, on networks without another freeze.')],
    button: say('End the freeze'),
    isDangerous: true,
  }),
  async run({ database, act }, freeze) {
    const ended = await database.holds.thaw({ freezes: [freeze], transfers: [] }, act);
    const said = ended.length > 0 ? say('The freeze is ended.') : say('It was ended already.');
    return { said, json: { network: freeze.network, changed: ended.length > 0 } };
  },
});
