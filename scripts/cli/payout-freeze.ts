/** Freezes money out on one network or on all, and the signer with it. */
import { freezeMoneyOut, placeOf } from '../../src/acts/money-out.ts';
import { printable } from '../../src/core/excerpt.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';
import { commandOf } from './act-command.ts';
import { type Command, moment } from './command.ts';
import { freezeLines, withSigner } from './signer-freeze.ts';

const freezing = commandOf(freezeMoneyOut, {
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'Without a network, the signer is frozen too, across restarts, and an approver has to end that (`quayside-signer thaw`).',
    'With a network, it goes on serving every process that has its socket and the secret key.',
  ],
});
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

export const payoutsFreeze: Command = {
  ...freezing,
  async run(input, installation) {
    const { config } = installation;
    const answer = await freezing.run(input, installation);
    if (input.args.length > 0 || !config.signer || input.options.dryRun === true) return answer;
    const { operator, reason } = input.act;
    const text = printable(reason ?? '').slice(0, REASON_CHARS_MAX);
    const { isFrozen, lines } = await withSigner(config.signer.dir, (signer) => signer.freeze(text, operator)).then(
      (state) => ({ isFrozen: true, lines: freezeLines(state) }),
      ({ message }: Error) => ({
        isFrozen: false,
        lines: [`the signer was NOT frozen: ${message}`, 'Stop it where it runs.'],
      }),
    );
    const json = Object.assign({}, answer.json, { signer_frozen: isFrozen });
    return { json, lines: [...answer.lines, ...lines], isBad: !isFrozen };
  },
};

/** Describes a freeze: where, why, by whom and since when. */
export const freezeText = (freeze: Freeze): string =>
  `${placeOf(freeze)}, by ${freeze.frozenBy} since ${moment(freeze.sinceMs)}: ${freeze.reason}`;
