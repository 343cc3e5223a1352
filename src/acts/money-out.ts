/** Freezes of money out, of one network or of every network, and their end. */
import { endOf, FROZEN_BY_OPERATOR, type Freeze, needsReconcile } from '../database/payouts/holds.ts';
import { type Context, defineAct, type Field, isRefusal, type Refusal, refuse, say } from './act.ts';
import { networkNamed } from './networks.ts';

/** Stands for every network. */
export const EVERYWHERE = 'all';

type Place = Pick<Freeze, 'network'>;

/** Returns the name of what is frozen. */
export const placeOf = ({ network }: Place): string => network ?? 'every network';

const networkField = {
  label: say('Network'),
  help: 'its key or name; without it, every network',
  isArgument: 'optional',
} as const satisfies Field;

/** Returns the network that is named; null for every network. */
function placeNamed({ networks }: Context, text = EVERYWHERE): Place | Refusal {
  if (text === EVERYWHERE) return { network: null };
  const named = networkNamed(networks, text);
  return isRefusal(named) ? named : { network: named.key };
}

export const freezeMoneyOut = defineAct({
  name: 'payout freeze',
  summary: 'Stop money out at once, on one network or on all: nothing is signed or sent until it is thawed.',
  needs: 'installation:manage',
  asks: 'confirmation',
  needsReason: true,
  fields: { network: networkField },
  plan: async (context, { network }) => placeNamed(context, network),
  review: (place) => ({
    title: say('Freeze money out on {place}?', { place: placeOf(place) }),
    target: placeOf(place),
    notes: [
      say(
        'Nothing is signed or sent until the freeze is ended. Transactions that nodes have already are watched to their end.',
      ),
    ],
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

/** The freezes of a place that a person may end, and those that stay. */
type Thaw = Place & Readonly<{ own: readonly Freeze[]; others: readonly Freeze[] }>;

export const thawMoneyOut = defineAct({
  name: 'payout thaw',
  summary: 'End a freeze by an operator or a restore.',
  needs: 'installation:manage',
  asks: 'second factor',
  needsReason: true,
  fields: { network: networkField },
  async plan(context, { network: name }): Promise<Thaw | Refusal> {
    const place = placeNamed(context, name);
    if (isRefusal(place)) return place;
    const all = await context.database.holds.list();
    const [cause] = all.filter((one) => one.network === place.network);
    if (!cause) return refuse('not_found', say('{place} has no freeze of its own', { place: placeOf(place) }));
    const isOwn = (one: Freeze) => one.network === place.network && !needsReconcile(one);
    const own = all.filter(isOwn);
    if (own.length > 0) return { ...place, own, others: all.filter((one) => !isOwn(one)) };
    const values = { place: placeOf(place), why: cause.reason, end: endOf(cause) };
    return refuse('refused', say('the program froze {place}: {why}. {end} ends that', values));
  },
  review: (plan) => ({
    title: say('End the freeze of {place}?', { place: placeOf(plan) }),
    target: placeOf(plan),
    facts: plan.own.flatMap((freeze) => [
      [say('Frozen by'), freeze.frozenBy],
      [say('Because'), freeze.reason],
      [say('Since'), { atMs: freeze.sinceMs }],
    ]),
    notes: [say('Payouts that wait are signed and sent again, on networks without another freeze.')],
    button: say('End the freeze'),
    isDangerous: true,
  }),
  async run({ database, act }, { network, own, others }) {
    const ended = await database.holds.thaw({ freezes: own, transfers: [] }, act);
    return {
      said: ended.length > 0 ? say('The freeze is ended.') : say('It was ended already.'),
      facts: others.map((one) => [say('Still frozen'), `${placeOf(one)}: ${one.reason}. ${endOf(one)} ends that`]),
      json: { network, changed: ended.length > 0, still_frozen: others.map((one) => one.network) },
      // With everything, the signer was frozen too, and only that check asks it.
      next: network === null ? 'doctor' : 'status',
    };
  },
});
