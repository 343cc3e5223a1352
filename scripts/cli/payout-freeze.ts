/** Freezes and thaws money out, on one network or on all, and the signer with it. */
import { EVERYWHERE, freezeMoneyOut, placeOf, thawMoneyOut } from '../../src/acts/money-out.ts';
import { printable } from '../../src/core/excerpt.ts';
import { permanent } from '../../src/core/fault.ts';
import { endOf, type Freeze, needsReconcile } from '../../src/database/payouts/holds.ts';
import { commandOf } from './act-command.ts';
import { type Answer, type Command, type Input, type Installation, moment, notFound, operatorAct } from './command.ts';
import { networkOf } from './network-name.ts';
import { freezeLines, withSigner } from './signer-freeze.ts';

const freezing = commandOf(freezeMoneyOut);
const thawing = commandOf(thawMoneyOut);
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

export const payoutsFreeze: Command = {
  ...freezing,
  args: [],
  optionalArgs: ['network'],
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'Without a network, the signer is frozen too, and an approver has to end that (`quayside-signer thaw`).',
    'With a network, it goes on serving every process that has its socket and the secret key.',
  ],
  async run(input, installation) {
    const { config, clock } = installation;
    const network = keyOf(input, installation);
    const answer = await freezing.run({ ...input, args: [network ?? EVERYWHERE] }, installation);
    if (network !== null || !config.signer || input.options['dry-run'] === true) return answer;
    const { operator, reason } = operatorAct(freezing, input, clock);
    const text = printable(reason ?? '').slice(0, REASON_CHARS_MAX);
    const signer = await freezeSigner(config.signer.dir, text, operator);
    return {
      json: Object.assign({}, answer.json, { signer_frozen: signer.isFrozen }),
      lines: [...answer.lines, ...signer.lines],
      isBad: !signer.isFrozen,
    };
  },
};

export const payoutsThaw: Command = {
  ...thawing,
  args: [],
  optionalArgs: ['network'],
  options: freezing.options,
  notes: [
    'A network with a freeze of its own stays frozen until that is ended by its name. What the program froze by itself is',
    'ended by `payout reconcile`, which shows its cause.',
  ],
  async run(input, installation) {
    const { config, database } = installation;
    const network = keyOf(input, installation);
    const where = placeOf({ network });
    const own = (await database.holds.list()).filter((one) => one.network === network);
    const [cause] = own;
    if (!cause) throw notFound(`${where} has no freeze of its own; \`quayside status\` shows all`);
    const byOperators = own.filter((one) => !needsReconcile(one));
    if (byOperators.length === 0) {
      throw permanent('reconcile_first', `the program froze ${freezeText(cause)}. ${endOf(cause)} ends that`);
    }
    const ended: Answer[] = [];
    for (const { code } of byOperators) {
      const one = { ...input, args: [network ?? EVERYWHERE], options: { ...input.options, cause: code } };
      ended.push(await thawing.run(one, installation));
    }
    const others = await database.holds.list();
    return {
      json: { network, ended: ended.map(({ json }) => json), still_frozen: others.map((one) => one.network) },
      lines: [
        ...ended.flatMap(({ lines }) => lines),
        ...others.map((one) => `still frozen: ${freezeText(one)}. ${endOf(one)} ends that`),
        ...(config.signer ? await signerState(config.signer.dir) : []),
      ],
      isBad: input.options['dry-run'] !== true && others.some((one) => one.network === network),
    };
  },
};

/** Returns the key of the network that is named; null for every network. @throws Fault permanent `not_found` */
const keyOf = ({ args: [name] }: Input, { config }: Pick<Installation, 'config'>) =>
  name === undefined ? null : networkOf(config.networks, name).key;

/** Describes a freeze: where, why, by whom and since when. */
export const freezeText = (freeze: Freeze): string =>
  `${placeOf(freeze)}, by ${freeze.frozenBy} since ${moment(freeze.sinceMs)}: ${freeze.reason}`;

/** Returns whether the signer is frozen, and what ends that, in words; nothing if it is not. */
export const signerState = async (dir: string): Promise<string[]> =>
  withSigner(dir, (signer) => signer.freezeState()).then(
    (state) => (state.freeze ? freezeLines(state) : []),
    (error: Error) => [`whether the signer itself is frozen is not known: ${error.message}`],
  );

/** Freezes the signer as well. @returns the lines to show, and whether it is frozen now */
const freezeSigner = async (dir: string, reason: string, operator: string) =>
  withSigner(dir, (signer) => signer.freeze(reason, operator)).then(
    (state) => ({ isFrozen: true, lines: freezeLines(state) }),
    ({ message }: Error) => ({
      isFrozen: false,
      lines: [`the signer was NOT frozen: ${message}`, 'Run `quayside-signer freeze` where it runs, or stop it.'],
    }),
  );
