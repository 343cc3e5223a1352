/**
 * Resumes the wallets of a network whose nonces others have used. What those transactions paid is looked up first, so
 * that nothing is paid a second time.
 */
import {
  explainNumbers,
  leftText,
  passNumbers,
  type UsedNumber,
  usedText,
} from '../../indexers/payouts/halted-lanes.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { endOf } from '../../src/database/freezes.ts';
import { openTerminal } from '../../src/signer/terminal.ts';
import {
  type Answer,
  type Command,
  dryRunOption,
  type Input,
  type Installation,
  operatorAct,
  reasonOption,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { withPayoutAccess } from './payout-access.ts';
import { adopt } from './payouts.ts';

export const payoutsResume: Command = {
  name: 'payout resume',
  needsSandbox: true,
  args: ['network'],
  summary: 'Resume the halted wallets of a network.',
  options: {
    yes: { help: 'do not ask about transactions that no payout explains' },
    reason: reasonOption,
    'dry-run': dryRunOption,
  },
  notes: [
    'Reads the transactions that used nonces of its wallets and are unknown here, and settles the payouts that they',
    'paid. It shows the others and asks before the wallets go on with the nonces after them. Of a wallet with very',
    'many, it reads 200 at a time and says that you should run it again.',
  ],
  async run(input, installation) {
    return resumeWallets(networkOf(installation.config.networks, input.args[0] ?? ''), input, installation);
  },
};

/** Resumes halted wallets from the sequence number that is free at finality, as the node reports it. */
async function resumeWallets(network: NetworkConfig, input: Input, installation: Installation): Promise<Answer> {
  const { key } = network;
  const { database, clock } = installation;
  const halted = (await database.haltedLanes()).filter((lane) => lane.network === key);
  if (halted.length === 0) throw permanent('not_halted', await whyNotHalted(database, key));
  const isDryRun = input.options['dry-run'] === true;
  if (!isDryRun) await adopt(network, installation);
  const act = operatorAct(payoutsResume, input, clock);
  return withPayoutAccess(network, installation, async (access) => {
    const parts = { ...access, database, act, isDryRun };
    const { lanes: read, used: all } = await explainNumbers(parts, halted);
    const rest = all.filter(({ settles }) => settles === null);
    const settled = all.filter(({ settles }) => settles !== null);
    const text = (used: UsedNumber) => usedText(used, network);
    const lines = settled.map(
      ({ settles, spent }) => `${settles} ${isDryRun ? 'would be' : 'is'} settled: paid by ${spent?.tx}`,
    );
    if (!isDryRun) {
      await expectConsent(input, [...lines, ...rest.map(text)], rest.length);
      await passNumbers(database, key, read, clock.nowMs());
    }
    const payers = read.flatMap(({ payer, left }) => (left === 0 ? [payer] : []));
    const halting = read.filter(({ left }) => left > 0);
    const verb = isDryRun ? 'would resume' : 'resumed';
    return {
      json: {
        network: key,
        resumed: isDryRun ? [] : payers,
        settled: settled.map(({ settles, spent }) => ({ id: settles, transaction_hash: spent?.tx })),
        unexplained: rest.map(({ payer, nonce, spent }) => ({
          wallet: payer,
          number: nonce,
          transaction_hash: spent?.tx,
        })),
        still_halted: halting.map(({ payer, left }) => ({ wallet: payer, numbers_left: left })),
        dry_run: isDryRun,
      },
      lines: [
        ...lines,
        ...rest.map(text),
        ...halting.map((lane) => leftText(lane, network)),
        ...payers.map((payer) => `${verb} wallet ${payer} on ${key}`),
      ],
    };
  });
}

/** Where transactions have no numbers, no wallet is ever halted: what stops payouts there is a freeze. */
async function whyNotHalted(database: Pick<Database, 'findFreeze'>, key: NetworkConfig['key']): Promise<string> {
  const freeze = await database.findFreeze(key);
  if (!freeze) return `no wallet on ${key} is halted; \`quayside status\` shows what payouts wait for`;
  return `no wallet on ${key} is halted, but money out is frozen: ${freeze.reason}. ${endOf(freeze)} ends that`;
}

/** Asks whether the wallets may go on after transactions that no payout explains. @throws Fault permanent */
async function expectConsent(input: Input, lines: readonly string[], unexplained: number): Promise<void> {
  if (unexplained === 0 || input.options.yes === true) return;
  const terminal = openTerminal();
  try {
    if (!terminal.isInteractive) {
      throw usage(
        `${unexplained} transactions are not explained by any payout: ${lines.join('; ')}. Look at them, then add --yes`,
      );
    }
    for (const line of lines) terminal.say(line);
    if (/^y(es)?$/i.test(await terminal.ask('Go on with the numbers after these? [y/N] '))) return;
    throw permanent('not_agreed', 'the wallets stay halted: the answer was not yes');
  } finally {
    terminal.close();
  }
}
