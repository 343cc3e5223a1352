/**
 * Freezes and thaws money out, on one network or on all.
 */
import { printable } from '../../src/core/excerpt.ts';
import { permanent } from '../../src/core/fault.ts';
import { endOf, FROZEN_BY_OPERATOR, type Freeze, needsReconcile } from '../../src/database/payouts/holds.ts';
import {
  type Command,
  type Input,
  type Installation,
  moment,
  notFound,
  type Option,
  operatorAct,
  reasonOption,
  textOption,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { freezeLines, withSigner } from './signer-freeze.ts';

const options = { reason: reasonOption, 'dry-run': { help: 'show what would be changed, and change nothing' } };
const withoutSigner: Option = { help: 'leave the signer as it is; it would need an approver to be thawed' };
const EVERYWHERE = 'every network';
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

export const payoutsFreeze: Command = {
  name: 'payout freeze',
  args: [],
  optionalArgs: ['network'],
  summary: 'Stop money out at once, on one network or on all: nothing is signed or sent until `payout thaw`.',
  options: { ...options, 'without-signer': withoutSigner },
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'Without a network, the signer is frozen too, and an approver has to end that (`quayside-signer thaw`).',
    'With a network, it goes on serving whoever has its socket and the secret key.',
  ],
  async run(input, { config, database, clock }) {
    const { network, where, reason } = scopeOf(input, { config });
    const act = operatorAct(payoutsFreeze, input, clock);
    const isKnown = (one: Freeze) => one.network === network && one.code === FROZEN_BY_OPERATOR;
    const known = (await database.holds.list()).find(isKnown) ?? null;
    const freeze = { network, code: FROZEN_BY_OPERATOR, reason, frozenBy: act.operator, sinceMs: act.atMs };
    const isDryRun = input.options['dry-run'] === true;
    const isNew = isDryRun ? known === null : await database.holds.freeze(freeze, act);
    const verb = isDryRun ? 'would be' : 'is';
    const text = isNew
      ? `money out ${verb} frozen on ${where}; \`quayside payout thaw${network === null ? '' : ` ${network}`} --reason …\` ends that`
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
  name: 'payout thaw',
  args: [],
  optionalArgs: ['network'],
  summary: 'End a freeze by an operator or a restore. Without a network: the freezes of every network.',
  options,
  notes: [
    'A network with a freeze of its own stays frozen until that is ended by its name. What the program froze by itself is',
    'ended by `payout reconcile`, which shows its cause.',
  ],
  async run(input, { config, database, clock }) {
    const { network, where } = scopeOf(input, { config });
    const all = await database.holds.list();
    const own = all.filter((one) => one.network === network);
    if (own.length === 0) throw notFound(`${where} has no freeze of its own; \`quayside status\` shows all`);
    const byOperators = own.filter((one) => !needsReconcile(one));
    const [cause] = own;
    if (byOperators.length === 0 && cause) {
      throw permanent('reconcile_first', `the program froze ${freezeText(cause)}. ${endOf(cause)} ends that`);
    }
    const isDryRun = input.options['dry-run'] === true;
    const seen = { freezes: byOperators, transfers: [] };
    const ended = isDryRun ? byOperators : await database.holds.thaw(seen, operatorAct(payoutsThaw, input, clock));
    const others = isDryRun ? all.filter((one) => !ended.includes(one)) : await database.holds.list();
    const signer = config.signer ? await signerState(config.signer.dir) : [];
    return {
      json: {
        network,
        changed: !isDryRun && ended.length > 0,
        dry_run: isDryRun,
        ended: ended.map(({ code, reason }) => ({ code, reason })),
        still_frozen: others.map((one) => one.network),
        signer,
      },
      lines: [
        ...ended.map((one) => `the freeze of ${where} ${isDryRun ? 'would be' : 'is'} ended: ${freezeText(one)}`),
        ...others.map((one) => `still frozen: ${freezeText(one)}. ${endOf(one)} ends that`),
        ...signer,
      ],
      isBad: others.some((one) => one.network === network),
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

/** Freezes the signer as well. @returns the lines to show, and whether it is frozen now */
async function freezeSigner(dir: string, reason: string, operator: string) {
  try {
    const state = await withSigner(dir, (signer) => signer.freeze(reason, operator));
    return { isFrozen: true, lines: freezeLines(state) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const advice = 'Run `quayside-signer freeze` where it runs, or stop it.';
    return { isFrozen: false, lines: [`the signer was NOT frozen: ${why}`, advice] };
  }
}

/** @throws Fault permanent `usage` without a reason, `not_found` for an unknown network */
function scopeOf(input: Input, { config }: Pick<Installation, 'config'>) {
  const [name] = input.args;
  const network = name === undefined ? null : networkOf(config.networks, name).key;
  const reason = textOption(input, 'reason')?.trim();
  if (!reason) throw usage('--reason is missing: say why, for the audit log and for whoever looks next');
  return { network, where: network ?? EVERYWHERE, reason };
}
