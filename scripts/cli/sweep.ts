/**
 * Plans, runs and follows sweeps of deposit addresses to the treasury.
 */
import { payoutNodeOptions } from '../../indexers/payouts/nodes.ts';
import { levelsOf, readOwners } from '../../indexers/payouts/sweep-watch.ts';
import { createSweeper, type Sweeper } from '../../indexers/payouts/sweeper.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode } from '../../src/chains/spend.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import { MINOR_DECIMALS, minorToPar, parseUnits } from '../../src/core/money.ts';
import { delayOf, type Payout } from '../../src/core/payout.ts';
import type { SweepPolicy } from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import {
  type Answer,
  type Command,
  type Input,
  type Installation,
  moment,
  notFound,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { openProgress, progressBar } from './output.ts';
import { type NetworkPlan, planJson, planLines } from './sweep-text.ts';
import { table } from './table.ts';
import { withTerminal } from './terminal.ts';

const POLL_MS = 500;
const WAIT_S_MAX = 86_400;
const WAIT_S = 1800;
const LISTED = 10;

export const sweep: Command = {
  name: 'sweep',
  args: [],
  summary: 'Show what would be swept to the treasury now, why, and at what cost; --run sweeps it.',
  options: {
    network: { value: 'KEY', help: 'only this network, such as live:mychain' },
    min: {
      value: 'AMOUNT',
      help: 'sweep addresses with at least this much, such as 5.00, instead of the configured minimum',
    },
    run: { help: 'show the plan, ask, sweep, and follow the sweeps until they end' },
    yes: { help: 'with --run: do not ask before sweeping' },
    wait: { value: 'SECONDS', help: `with --run: how long to follow the sweeps (${WAIT_S}); they continue after that` },
    status: { help: 'what deposit addresses hold, and the newest sweeps; needs neither signer nor node' },
  },
  needsSandbox: true,
  async run(input, installation) {
    if (input.options.status === true) return statusOf(input, installation);
    return input.options.run === true ? runSweeps(input, installation) : showPlans(input, installation);
  },
};

const showPlans = (input: Input, installation: Installation): Promise<Answer> =>
  withSweepers(input, installation, async (sweepers) => {
    const plans = await plansOf(input, sweepers, installation);
    return {
      json: plans.map(planJson),
      lines: plans.flatMap(planLines),
      isBad: plans.some((one) => 'problem' in one),
    };
  });

async function runSweeps(input: Input, installation: Installation): Promise<Answer> {
  const waitS = wholeOption(input, 'wait', 0, WAIT_S_MAX, WAIT_S);
  return withSweepers(input, installation, async (sweepers) => {
    const plans = await plansOf(input, sweepers, installation);
    const isBad = plans.some((one) => 'problem' in one);
    const json = plans.map(planJson);
    const isEmpty = plans.every((one) => 'problem' in one || one.plan.sweeps.length === 0);
    if (isEmpty) return { json: { plan: json, sweeps: [] }, lines: plans.flatMap(planLines), isBad };
    if (!(await isAgreed(input, plans.flatMap(planLines), 'Sweep this now? [y/N] '))) {
      throw permanent('not_agreed', 'nothing was swept: the answer was not yes');
    }
    const ids: string[] = [];
    for (const [at, planned] of plans.entries()) {
      if ('plan' in planned) ids.push(...((await sweepers[at]?.sweeper.commit(planned.plan)) ?? []));
    }
    const payouts = await follow(ids, waitS * 1000, installation);
    const { lines, ...answer } = outcome(payouts, json, isBad, installation);
    // A person who was asked has seen the plan.
    return { ...answer, lines: input.options.yes === true ? [...plans.flatMap(planLines), ...lines] : lines };
  });
}

/** What deposit addresses hold, and the newest sweeps. */
async function statusOf(input: Input, { database, config, clock }: Installation): Promise<Answer> {
  const networks = chosen(input, config);
  const looked = [];
  for (const network of networks) {
    const owners = await readOwners(network, database, clock);
    const sweeps = await database.payouts.list({ network: network.key, kind: 'sweep', limit: LISTED });
    looked.push({ network, levels: levelsOf(network.key, owners, clock.nowMs()), sweeps });
  }
  const text = (network: NetworkConfig, currency: Currency, units: bigint) =>
    coinText(config.networks, network.key, currency, units);
  return {
    json: looked.map(({ network, levels, sweeps }) => ({
      network: network.key,
      auto: network.sweep.auto,
      unswept: levels.map(({ currency, owners, units, openUnits }) => ({
        addresses: owners,
        amount: text(network, currency, units),
        under_way: text(network, currency, openUnits),
      })),
      sweeps: sweeps.map((payout) => shown(payout, config)),
    })),
    lines: looked.flatMap(({ network, levels, sweeps }) => [
      `${network.key}: ${network.sweep.auto ? 'swept automatically' : 'swept with `quayside sweep --run`'}`,
      ...(levels.length === 0 ? ['  the deposit addresses hold nothing that is final'] : []),
      ...levels.map(
        ({ currency, owners, units, openUnits }) =>
          `  ${text(network, currency, units)} on ${owners} address(es), and ${text(network, currency, openUnits)} in progress`,
      ),
      ...table(
        sweeps.map((payout) => [
          `  ${payout.id}`,
          payout.state,
          shown(payout, config).amount,
          moment(payout.createdAtMs),
          delayOf(payout)?.code ?? '',
        ]),
      ),
    ]),
  };
}

type Opened = Readonly<{ network: NetworkConfig; sweeper: Sweeper }>;

/** Opens the signer and the nodes of the chosen networks for `work`. @throws Fault permanent `no_signer` */
async function withSweepers<T>(
  input: Input,
  { database, config, clock }: Installation,
  work: (sweepers: readonly Opened[]) => Promise<T>,
): Promise<T> {
  if (!config.signer)
    throw permanent('no_signer', 'the configuration has no `signer`, so nothing can be swept (docs/money.md)');
  const networks = chosen(input, config);
  const signer = openConfiguredSigner(config.signer);
  const nodes: PayoutNode[] = [];
  try {
    const sweepers: Opened[] = [];
    for (const network of networks) {
      const { payouts, spendRules: rules } = chains[network.family];
      if (!payouts) continue;
      const node = (await payouts()).openPayoutNode(payoutNodeOptions(network));
      nodes.push(node);
      sweepers.push({ network, sweeper: createSweeper({ network, rules, node, signer, database, clock }) });
    }
    return await work(sweepers);
  } finally {
    await Promise.all([...nodes.map((node) => node.close()), signer.close()]);
  }
}

function chosen(input: Input, { networks }: Config): readonly NetworkConfig[] {
  const key = textOption(input, 'network');
  const found = key === undefined ? networks : networks.filter((one) => one.key === key);
  if (found.length > 0) return found;
  throw notFound(`there is no network ${key}, only ${networks.map((one) => one.key).join(', ')}`);
}

function policyOf(input: Input, { sweep }: NetworkConfig): SweepPolicy {
  const text = textOption(input, 'min');
  if (text === undefined) return sweep;
  const minor = parseUnits(text, MINOR_DECIMALS);
  if (minor === null) throw usage(`--min is "${text}", expected an amount of stablecoins such as 5.00`);
  return { ...sweep, minPar: minorToPar(minor) };
}

/** Plans for one network after the other. */
async function plansOf(input: Input, sweepers: readonly Opened[], installation: Installation): Promise<NetworkPlan[]> {
  const plans: NetworkPlan[] = [];
  for (const one of sweepers) plans.push(await planOf(one, policyOf(input, one.network), installation));
  return plans;
}

/** Plans for one network. A fault is part of the answer, so that the other networks are planned all the same. */
async function planOf(
  { network, sweeper }: Opened,
  policy: SweepPolicy,
  { database, clock }: Installation,
): Promise<NetworkPlan> {
  try {
    const plan = await sweeper.plan(await readOwners(network, database, clock), policy);
    return { network, plan };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { network, problem: { code: error.code, message: error.message } };
  }
}

async function isAgreed(input: Input, lines: readonly string[], question: string): Promise<boolean> {
  if (input.options.yes === true) return true;
  return withTerminal(async (terminal) => {
    if (!terminal.isInteractive) throw usage('--yes is required without a terminal, where nobody can be asked');
    for (const line of lines) terminal.say(line);
    return /^y(es)?$/i.test(await terminal.ask(question));
  });
}

const ended = ({ state }: Payout): boolean => !['waiting', 'sent'].includes(state);

/** Watches the payouts until all have ended or the time is up, and shows a progress bar on a terminal. */
async function follow(ids: readonly string[], waitMs: number, { database, clock }: Installation): Promise<Payout[]> {
  const bar = openProgress();
  const untilMs = clock.nowMs() + waitMs;
  try {
    for (;;) {
      const payouts = await read(ids, database);
      const waits = payouts.flatMap((one) => (one.state === 'waiting' ? (delayOf(one)?.code ?? []) : []));
      bar.show(progressBar('sweeps', payouts.filter(ended).length, ids.length, [...new Set(waits)].join(', ')));
      if (payouts.every(ended) || clock.nowMs() >= untilMs) return payouts;
      await clock.sleep(POLL_MS);
    }
  } finally {
    bar.end();
  }
}

async function read(ids: readonly string[], database: Database): Promise<Payout[]> {
  const payouts = await Promise.all(ids.map((id) => database.payouts.find(id)));
  return payouts.flatMap((payout) => payout ?? []);
}

function outcome(payouts: readonly Payout[], plan: unknown, isBad: boolean, { config }: Installation): Answer {
  const done = payouts.filter(({ state }) => state === 'succeeded');
  const others = payouts.filter(({ state }) => state !== 'succeeded');
  return {
    json: { plan, sweeps: payouts.map((payout) => shown(payout, config)) },
    lines: [
      ...done.map((payout) => `${payout.id} succeeded: ${shown(payout, config).amount}, transaction ${payout.tx}`),
      ...others.map((one) => [`${one.id} is ${one.state}`, delayOf(one)?.message ?? []].flat().join(': ')),
      ...(payouts.length === 0 ? ['nothing was swept: somebody else has planned these sweeps meanwhile'] : []),
      ...(others.some((payout) => !ended(payout)) ? ['open sweeps continue while the server runs (`npm start`)'] : []),
    ],
    isBad: isBad || others.length > 0,
  };
}

const shown = (
  { id, intent, network, state, wait, fault, tx, feeUnits, createdAtMs }: Payout,
  { networks }: Config,
) => ({
  id,
  state,
  amount: coinText(networks, network, assetOf(intent), unitsOf(intent)),
  addresses: intent.kind === 'sweep' ? intent.from.length : 0,
  waits_for: delayOf({ wait, fault }),
  transaction_hash: tx,
  fee: feeUnits === null ? null : coinText(networks, network, 'native', feeUnits),
  created_at: moment(createdAtMs),
});
