/**
 * Resumes what stopped: a stuck payout, or the wallets of a network whose numbers others have used. What those
 * transactions paid is looked up first, so that nothing is paid a second time.
 * @module
 */
import { settleNever } from '../../indexers/payouts/exits.ts';
import {
  explainNumbers,
  leftText,
  passNumbers,
  type UsedNumber,
  usedText,
} from '../../indexers/payouts/halted-lanes.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { Database } from '../../src/database/database.ts';
import { openTerminal } from '../../src/signer/terminal.ts';
import {
  type Answer,
  type Command,
  type Input,
  type Installation,
  operatorAct,
  reasonOption,
  usage,
} from './command.ts';
import { findNetwork, networkOf } from './network-name.ts';
import { withPayoutAccess } from './payout-access.ts';
import { adopt, unknownPayout } from './payouts.ts';

export const payoutsResume: Command = {
  name: 'payouts resume',
  needsSandbox: true,
  args: ['id or network'],
  summary: 'Resume a stuck payout, or the halted wallets of a network.',
  options: {
    anew: { help: 'sign the payout again, if the nodes show that nothing has paid it and none of its attempts can' },
    yes: {
      help: 'of a network: do not ask about transactions that no payout explains; with --anew as in `payouts settle`',
    },
    reason: reasonOption,
    'dry-run': { help: 'show what would be done, and change nothing' },
  },
  notes: [
    'Of a network: reads the transactions that used numbers of its wallets and are unknown here, and settles the',
    'payouts that they paid. It shows the others and asks before the wallets go on with the numbers after them. Of a',
    'wallet with very many, it reads 200 at a time and says that you should run it again.',
  ],
  async run(input, installation) {
    const name = input.args[0] ?? '';
    const network = findNetwork(installation.config.networks, name);
    if (network) return resumeWallets(network, input, installation);
    const { database, clock, config } = installation;
    const payout = await database.findPayout(name);
    if (!payout) throw unknownPayout(name);
    if (payout.state !== 'stuck') {
      throw permanent(
        'not_stuck',
        `${name} is not stuck: it is in progress or has ended (\`quayside payouts show ${name}\`)`,
      );
    }
    const isDryRun = input.options['dry-run'] === true;
    if (input.options.anew === true)
      await signAgain(payout, networkOf(config.networks, payout.network), input, installation);
    else if (!isDryRun) await database.resumePayout(name, clock.nowMs());
    return {
      json: { id: name, resumed: !isDryRun, ...(isDryRun && { dry_run: true }) },
      lines: [`${isDryRun ? 'would resume' : 'resumed'} ${name}; \`quayside payouts show ${name}\` shows its progress`],
    };
  },
};

/** An attempt that this database does not know may have paid it already, so the signer's journal is adopted first. */
async function signAgain(
  payout: Payout,
  network: NetworkConfig,
  input: Input,
  installation: Installation,
): Promise<void> {
  const { database, clock } = installation;
  const isDryRun = input.options['dry-run'] === true;
  if (!isDryRun) await adopt(network, installation);
  const act = operatorAct(payoutsResume, input, clock);
  await withPayoutAccess(network, installation, async (access) => {
    const current = (await database.findPayout(payout.id)) ?? payout;
    const isAgreed = input.options.yes === true;
    await settleNever({ ...access, database, act, isDryRun }, current, { isRenewed: true, isAgreed });
  });
}

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
  return (
    `no wallet on ${key} is halted, but money out is frozen: ${freeze.reason}. ` +
    `\`quayside payouts thaw${freeze.network ? ` ${key}` : ''} --reason …\` ends that`
  );
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
