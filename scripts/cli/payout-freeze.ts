/**
 * Freezes and thaws money out, on one network or on all.
 */
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { printable } from '../../src/core/excerpt.ts';
import { permanent } from '../../src/core/fault.ts';
import { explorerPage } from '../../src/dashboard/explorer.ts';
import { FROZEN_BY_OPERATOR, type Freeze, isAutomatic, OUTFLOW_FOREIGN } from '../../src/database/freezes.ts';
import type { OutgoingRecord } from '../../src/database/outgoing.ts';
import { openTerminal } from '../../src/signer/terminal.ts';
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
import { freezeLines, freezeSigner, withSigner } from './signer-freeze.ts';

const options = { reason: reasonOption, 'dry-run': { help: 'show what would be changed, and change nothing' } };
const withoutSigner: Option = { help: 'leave the signer as it is; it would need an approver to be thawed' };
const EVERYWHERE = 'every network';
/** Transfers that are shown and acknowledged at once; with more, the network stays frozen for the rest. */
const ACKNOWLEDGED_MAX = 100;
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
    const known = (await database.listFreezes()).find(isKnown) ?? null;
    const freeze = { network, code: FROZEN_BY_OPERATOR, reason, frozenBy: act.operator, sinceMs: act.atMs };
    const isDryRun = input.options['dry-run'] === true;
    const isNew = isDryRun ? known === null : await database.freezePayouts(freeze, act);
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
  summary: 'Let money out go on after a freeze. Without a network: end the freezes of every network.',
  options: {
    ...options,
    yes: { help: 'end those too with which the program froze money out by itself, without asking' },
  },
  notes: [
    'A network with a freeze of its own stays frozen until that is ended by its name. What an operator froze is ended at',
    'once. What the program froze by itself, because money left a wallet, say, is shown and asked about: find out why first.',
    'The transfers that are shown with it are acknowledged. If a refund was lost with a restored backup, have the merchant',
    'request it again before: later, a refund that equals an acknowledged transfer waits for `payout resolve`.',
  ],
  async run(input, { config, database, clock }) {
    const { network, where } = scopeOf(input, { config });
    const all = await database.listFreezes();
    const own = all.filter((one) => one.network === network);
    if (own.length === 0) throw notFound(`${where} has no freeze of its own; \`quayside status\` shows all`);
    const isDryRun = input.options['dry-run'] === true;
    const byOperators = own.filter((one) => !isAutomatic(one));
    const hasOutflow = own.some(({ code }) => code === OUTFLOW_FOREIGN);
    const foreign = network === null || !hasOutflow ? [] : await database.listForeign(network, ACKNOWLEDGED_MAX);
    const moved = foreign.map((one) => transferText(config.networks, one));
    const isAll =
      isDryRun ||
      byOperators.length === own.length ||
      (await isAgreed(input, [...own.map(freezeText), ...moved], byOperators.length > 0));
    const agreed = isAll ? own : byOperators;
    const seen = { freezes: agreed, transfers: isAll ? foreign.map(({ id }) => id) : [] };
    const ended = isDryRun ? agreed : await database.thawPayouts(seen, operatorAct(payoutsThaw, input, clock));
    const others = isDryRun ? all.filter((one) => !ended.includes(one)) : await database.listFreezes();
    const verb = isDryRun ? 'would be' : 'is';
    const signer = config.signer ? await signerState(config.signer.dir) : [];
    const isLeft = others.some((one) => one.network === network);
    return {
      json: {
        network,
        changed: !isDryRun && ended.length > 0,
        dry_run: isDryRun,
        ended: ended.map(({ code, reason }) => ({ code, reason })),
        acknowledged: seen.transfers.length === 0 ? [] : foreign.map((one) => transferJson(config.networks, one)),
        still_frozen: others.map((one) => one.network),
        signer,
      },
      lines: [
        ...ended.map((one) => `the freeze of ${where} ${verb} ended: ${freezeText(one)}`),
        ...(seen.transfers.length === 0 ? [] : moved.map((one) => `${verb} acknowledged: ${one}`)),
        ...others.map((one) => `still frozen: ${freezeText(one)}`),
        ...(isLeft ? ['find out why; then run this command again, with --yes'] : []),
        ...signer,
      ],
      isBad: isLeft,
    };
  },
};

/**
 * Asks whether the freezes that the program began by itself are ended too.
 * @param isPartial whether there are others, which are ended in any case
 * @throws Fault permanent `usage` if nobody can be asked and there is nothing else to end, `not_agreed`
 */
async function isAgreed(input: Input, shown: readonly string[], isPartial: boolean): Promise<boolean> {
  if (input.options.yes === true) return true;
  const terminal = openTerminal();
  try {
    if (!terminal.isInteractive) {
      if (isPartial) return false;
      throw usage(`the program froze money out by itself: ${shown.join('; ')}. Find out why, then add --yes`);
    }
    for (const one of shown) terminal.say(one);
    if (/^y(es)?$/i.test(await terminal.ask('Have you found out why, and is all of this to end? [y/N] '))) return true;
    if (isPartial) return false;
    throw permanent('not_agreed', 'it stays frozen: the answer was not yes');
  } finally {
    terminal.close();
  }
}

/** Describes a transfer that nothing explains, with a block explorer's page of it if the settings name one. */
function transferText(networks: readonly NetworkConfig[], transfer: OutgoingRecord): string {
  const { wallet, to, amount, block, transaction_hash: tx, explorer } = transferJson(networks, transfer);
  return `${tx} in block ${block} moved ${amount} from the ${wallet} wallet to ${to}${explorer ? `: ${explorer}` : ''}`;
}

function transferJson(networks: readonly NetworkConfig[], transfer: OutgoingRecord) {
  const { network, role: wallet, to, currency, units, blockNumber: block, tx } = transfer;
  const { family } = networkOf(networks, network);
  return {
    ...{ transaction_hash: tx, block, wallet, to: chains[family].address.format(to) },
    amount: coinText(networks, network, currency, units),
    explorer: explorerPage(networks, { network, kind: 'tx', text: tx }),
  };
}

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
  const reason = textOption(input, 'reason')?.trim();
  if (!reason) throw usage('--reason is missing: say why, for the audit log and for whoever looks next');
  return { network, where: network ?? EVERYWHERE, reason };
}
