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
  type Option,
  operatorAct,
  printable,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { freezeLines, freezeSigner, withSigner } from './signer-freeze.ts';

const options = { because: becauseOption, 'dry-run': { help: 'show what would be changed, and change nothing' } };
const withoutSigner: Option = { help: 'leave the signer as it is; it would need an approver to be thawed' };
const EVERYWHERE = 'every network';
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

export const payoutsFreeze: Command = {
  name: 'payouts freeze',
  args: [],
  optionalArgs: ['network'],
  summary: 'Stop money out at once, on one network or on all: nothing is signed or sent until `payouts thaw`.',
  options: { ...options, 'without-signer': withoutSigner },
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'Without a network, the signer is frozen too, and an approver has to end that (`quayside signer thaw`).',
    'With a network, it goes on serving whoever has its socket and the secret key.',
  ],
  async run(input, { config, database, clock }) {
    const { network, where, reason } = scopeOf(input, { config });
    const act = operatorAct(payoutsFreeze, input, clock);
    const known = (await database.listFreezes()).find((one) => one.network === network) ?? null;
    const freeze = { network, code: 'payouts_frozen', reason, frozenBy: act.operator, sinceMs: act.atMs };
    const isDryRun = input.options['dry-run'] === true;
    const isNew = isDryRun ? known === null : await database.freezePayouts(freeze, act);
    const verb = isDryRun ? 'would be' : 'is';
    const text = isNew
      ? `money out ${verb} frozen on ${where}; \`quayside payouts thaw\` ends that`
      : `it is frozen already: ${freezeText(known ?? freeze)}`;
    const wanted = network === null && input.options['without-signer'] !== true && !isDryRun;
    const signer =
      wanted && config.signer
        ? await freezeSigner(config.signer.dir, printable(reason).slice(0, REASON_CHARS_MAX), act.operator)
        : null;
    const json = { network, frozen: true, changed: isNew && !isDryRun, dry_run: isDryRun };
    return {
      json: { ...json, signer_frozen: signer?.isFrozen ?? null },
      lines: [text, ...(signer?.lines ?? [])],
      isBad: signer?.isFrozen === false,
    };
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
    const signer = config.signer ? await signerState(config.signer.dir) : [];
    return {
      json: { network, changed: !isDryRun, dry_run: isDryRun, still_frozen: others.map((one) => one.network), signer },
      lines: [
        `the freeze of ${where} ${verb} ended: ${freezeText(ended)}`,
        ...others.map((one) => `still frozen: ${freezeText(one)}`),
        ...signer,
      ],
    };
  },
};

/** Describes a freeze: where, why, by whom and since when. */
export const freezeText = ({ network, reason, frozenBy, sinceMs }: Freeze): string =>
  `${network ?? EVERYWHERE}, by ${frozenBy} since ${moment(sinceMs)}: ${reason}`;

/** Returns what the signer still needs, in words; nothing if it is not frozen. */
export async function signerState(dir: string): Promise<string[]> {
  try {
    const state = await withSigner(dir, (signer) => signer.freezeState());
    return state.freeze ? freezeLines(state) : [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [`whether the signer itself is frozen is not known: ${why}`];
  }
}

/** @throws Fault permanent `usage` without a reason, `not_found` for an unknown network */
function scopeOf(input: Input, { config }: Pick<Installation, 'config'>) {
  const [name] = input.args;
  const network = name === undefined ? null : networkOf(config.networks, name).key;
  const { because } = input.options;
  const reason = typeof because === 'string' ? because.trim() : '';
  if (!reason) throw usage('--because is missing: say why, for the audit log and for whoever looks next');
  return { network, where: network ?? EVERYWHERE, reason };
}
