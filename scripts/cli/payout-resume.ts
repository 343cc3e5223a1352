/**
 * Resumes what stopped: a stuck payout, or the wallets of a network whose numbers others have used. What those
 * transactions paid is looked up first, so that nothing is paid a second time.
 * @module
 */
import { isPayment } from '../../indexers/payouts/exit-evidence.ts';
import { chains } from '../../src/chains/index.ts';
import type { Spent } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { HaltedLane } from '../../src/database/money-out.ts';
import { openTerminal } from '../../src/signer/terminal.ts';
import { coinText } from './coins.ts';
import {
  type Answer,
  becauseOption,
  type Command,
  type Input,
  type Installation,
  operatorAct,
  usage,
} from './command.ts';
import { type ExitParts, type PayoutAccess, settleNever, settlePaid, withPayoutAccess } from './payout-exit.ts';
import { adopt, networkOf, unknownPayout } from './payouts.ts';

/** Numbers that are read in one run of the command. */
const NUMBERS_MAX = 200;
/** Open payouts that they are compared with, of each state. */
const COMPARED_MAX = 1_000;

export const payoutsResume: Command = {
  name: 'payouts resume',
  needsSandbox: true,
  args: ['id or network'],
  summary: 'Resume a stuck payout, or the halted wallets of a network.',
  options: {
    anew: { help: 'sign the payout again, if the nodes show that nothing has paid it and none of its attempts can' },
    yes: { help: 'of a network: do not ask about transactions that no payout explains' },
    because: becauseOption,
    'dry-run': { help: 'show what would be done, and change nothing' },
  },
  notes: [
    'Of a network: reads the transactions that used numbers of its wallets and are unknown here, and settles the',
    'payouts that they paid. It shows the others and asks before the wallets go on with the numbers after them.',
  ],
  async run(input, installation) {
    const name = input.args[0] ?? '';
    const network = installation.config.networks.find(({ key }) => key === name);
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
    if (input.options.anew === true) await signAgain(payout, networkOf(config, payout.network), input, installation);
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
    await settleNever({ ...access, database, act, isDryRun }, current, true);
  });
}

/** What used one number of a halted wallet. */
type Used = Readonly<{
  payer: string;
  nonce: number;
  spent: Spent | null;
  /** The payout that it paid, and that is settled by it. */
  settles: string | null;
  /** Why that was not possible. */
  refusal: string | null;
}>;

/** Resumes halted wallets from the sequence number that is free at finality, as the node reports it. */
async function resumeWallets(network: NetworkConfig, input: Input, installation: Installation): Promise<Answer> {
  const { key } = network;
  const { database, clock } = installation;
  const halted = (await database.haltedLanes()).filter((lane) => lane.network === key);
  if (halted.length === 0) throw permanent('not_halted', `no wallet on ${key} is halted`);
  const isDryRun = input.options['dry-run'] === true;
  if (!isDryRun) await adopt(network, installation);
  const act = operatorAct(payoutsResume, input, clock);
  return withPayoutAccess(network, installation, async (access) => {
    const parts: Parts = { ...access, database, act, isDryRun };
    const finals = new Map<string, number>();
    const all: Used[] = [];
    for (const lane of halted) {
      const final = await finalNumber(access, lane);
      finals.set(lane.payer, final);
      for (const nonce of await strangeNumbers(parts, lane, final)) all.push(await settleNumber(parts, lane, nonce));
    }
    const rest = all.filter(({ settles }) => settles === null);
    const settled = all.filter(({ settles }) => settles !== null);
    const text = (used: Used) => usedText(used, network, installation);
    const lines = settled.map(
      ({ settles, spent }) => `${settles} ${isDryRun ? 'would be' : 'is'} settled: paid by ${spent?.tx}`,
    );
    if (!isDryRun) {
      await expectConsent(input, [...lines, ...rest.map(text)], rest.length);
      for (const [payer, final] of finals) await database.resumeLane(key, payer, final, clock.nowMs());
    }
    const payers = [...finals.keys()];
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
        dry_run: isDryRun,
      },
      lines: [...lines, ...rest.map(text), ...payers.map((payer) => `${verb} wallet ${payer} on ${key}`)],
    };
  });
}

type Parts = ExitParts & Pick<PayoutAccess, 'node'> & Pick<Installation, 'database'>;

/** @throws Fault transient `node_history_pruned` */
async function finalNumber({ node }: PayoutAccess, { network, payer }: HaltedLane): Promise<number> {
  const sequence = await node.sequence(payer);
  if (sequence?.final !== null) return sequence?.final ?? 0;
  const why = `the node of ${network} no longer has the final state, which counts the transactions of wallet ${payer}`;
  throw transient('node_history_pruned', `${why}: wait until finality no longer lags, or use an archive node`);
}

/** Returns the final numbers of a wallet that no attempt here is known to have used, lowest first. */
async function strangeNumbers({ database }: Parts, lane: HaltedLane, final: number): Promise<number[]> {
  const { network, payer, nextNonce } = lane;
  const numbers = new Set<number>();
  for (const { id, wait } of await database.listPayouts({ network, state: 'stuck', limit: COMPARED_MAX })) {
    if (wait?.code !== 'payout_nonce_foreign') continue;
    for (const one of await database.listPayoutAttempts(id)) {
      if (one.payer === payer && one.nonce !== null && one.nonce < final && one.feeUnits === null)
        numbers.add(one.nonce);
    }
  }
  for (let nonce = nextNonce; nonce < final; nonce++) numbers.add(nonce);
  if (numbers.size > NUMBERS_MAX) {
    throw permanent(
      'too_many_numbers',
      `${numbers.size} transactions of wallet ${payer} on ${network} are unknown here, more than ${NUMBERS_MAX}: ` +
        `somebody else uses its key, or this database is very old. Restore a newer backup, then run \`quayside payouts adopt ${network}\``,
    );
  }
  return [...numbers].sort((a, b) => a - b);
}

/** Reads what used a number, and settles the payout that it paid. */
async function settleNumber(parts: Parts, { network, payer }: HaltedLane, nonce: number): Promise<Used> {
  const spent = await parts.node.usedBy(payer, nonce);
  const used = { payer, nonce, spent, settles: null, refusal: null };
  if (!spent || (await parts.database.findAttemptOwner(spent.tx)) !== null) return used;
  const payout = await findPaid(parts, network, payer, spent);
  if (!payout) return used;
  try {
    await settlePaid(parts, payout, spent.tx, false);
    return { ...used, settles: payout.id };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...used, refusal: error.message };
  }
}

/** Returns the oldest open payout that a transaction has paid. */
async function findPaid({ database, wallets }: Parts, network: string, payer: string, spent: Spent) {
  const open: Payout[] = [];
  for (const state of ['waiting', 'sent', 'stuck'] as const) {
    open.push(...(await database.listPayouts({ network: network as Payout['network'], state, limit: COMPARED_MAX })));
  }
  open.sort((a, b) => a.createdAtMs - b.createdAtMs);
  for (const payout of open) {
    if (payout.intent.kind === 'gas') continue;
    const draft = await wallets.draft(payout.intent, payout.olderLock);
    if (draft.payer === payer && isPayment(spent, draft)) return payout;
  }
  return null;
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

function usedText(
  { payer, nonce, spent, refusal }: Used,
  { key, family }: NetworkConfig,
  { config }: Pick<Installation, 'config'>,
): string {
  const { address } = chains[family];
  const number = `number ${nonce} of wallet ${address.format(payer)}`;
  if (!spent) return `${number}: used by a transaction that the node no longer finds; look for it in an explorer`;
  const tokens = spent.tokens.map(
    ({ currency, to, units }) => `${coinText(config.networks, key, currency, units)} to ${address.format(to)}`,
  );
  const { native } = spent;
  if (native) tokens.push(`${coinText(config.networks, key, 'native', native.units)} to ${address.format(native.to)}`);
  const moved = tokens.length === 0 ? 'no money' : tokens.join(', ');
  return `${number}: ${spent.tx} moved ${moved}${refusal === null ? ', and no payout explains it' : `: ${refusal}`}`;
}
