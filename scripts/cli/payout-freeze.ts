/**
 * Freezes and thaws money out, on one network or on all.
 * @module
 */
import type { Freeze } from '../../src/database/freezes.ts';
import {
  becauseOption,
  type Command,
  type Input,
  type Installation,
  moment,
  notFound,
  operatorAct,
  usage,
} from './command.ts';

const options = { because: becauseOption, 'dry-run': { help: 'show what would be changed, and change nothing' } };
const EVERYWHERE = 'every network';

export const payoutsFreeze: Command = {
  name: 'payouts freeze',
  args: [],
  optionalArgs: ['network'],
  summary: 'Stop money out at once, on one network or on all: nothing is signed or sent until `payouts thaw`.',
  options,
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'The signer itself goes on serving whoever has its socket and the secret key.',
  ],
  async run(input, { config, database, clock }) {
    const { network, where, reason } = scopeOf(input, { config });
    const act = operatorAct(payoutsFreeze, input, clock);
    const known = (await database.listFreezes()).find((one) => one.network === network) ?? null;
    const freeze = { network, code: 'payouts_frozen', reason, frozenBy: act.operator, sinceMs: act.atMs };
    const isDryRun = input.options['dry-run'] === true;
    const isNew = isDryRun ? known === null : await database.freezePayouts(freeze, act);
    const json = { network, frozen: true, changed: isNew && !isDryRun, dry_run: isDryRun };
    if (!isNew) return { json, lines: [`it is frozen already: ${freezeText(known ?? freeze)}`] };
    const verb = isDryRun ? 'would be' : 'is';
    return { json, lines: [`money out ${verb} frozen on ${where}; \`quayside payouts thaw\` ends that`] };
  },
};

export const payoutsThaw: Command = {
  name: 'payouts thaw',
  args: [],
  optionalArgs: ['network'],
  summary: 'Let money out go on after a freeze. Without a network: end the freeze of every network.',
  options,
  notes: ['A network with a freeze of its own stays frozen until that is ended by its name.'],
  async run(input, { config, database, clock }) {
    const { network, where } = scopeOf(input, { config });
    const all = await database.listFreezes();
    const known = all.find((one) => one.network === network);
    const others = all.filter((one) => one !== known);
    const isDryRun = input.options['dry-run'] === true;
    const ended = isDryRun ? known : await database.thawPayouts(network, operatorAct(payoutsThaw, input, clock));
    if (!ended) throw notFound(`${where} has no freeze of its own; \`quayside status\` shows all`);
    const verb = isDryRun ? 'would be' : 'is';
    return {
      json: { network, changed: !isDryRun, dry_run: isDryRun, still_frozen: others.map((one) => one.network) },
      lines: [
        `the freeze of ${where} ${verb} ended: ${freezeText(ended)}`,
        ...others.map((one) => `still frozen: ${freezeText(one)}`),
      ],
    };
  },
};

/** Describes a freeze: where, why, by whom and since when. */
export const freezeText = ({ network, reason, frozenBy, sinceMs }: Freeze): string =>
  `${network ?? EVERYWHERE}, by ${frozenBy} since ${moment(sinceMs)}: ${reason}`;

/** @throws Fault permanent `usage` without a reason, `not_found` for an unknown network */
function scopeOf(input: Input, { config }: Pick<Installation, 'config'>) {
  const [name] = input.args;
  const network = name === undefined ? null : config.networks.find(({ key }) => key === name)?.key;
  if (network === undefined) {
    throw notFound(`there is no network ${name}, only ${config.networks.map(({ key }) => key).join(', ')}`);
  }
  const { because } = input.options;
  const reason = typeof because === 'string' ? because.trim() : '';
  if (!reason) throw usage('--because is missing: say why, for the audit log and for whoever looks next');
  return { network, where: network ?? EVERYWHERE, reason };
}
