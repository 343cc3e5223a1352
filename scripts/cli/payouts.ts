/**
 * Shows payouts, resumes those that stopped, and adopts signatures after a restore.
 * @module
 */
import { payoutNodeOptions } from '../../indexers/payouts/node-options.ts';
import { chains } from '../../src/chains/index.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent, transient } from '../../src/core/fault.ts';
import { paybackKinds } from '../../src/core/intent.ts';
import { type Asset, unitsOf } from '../../src/core/ledger.ts';
import { type Attempt, delayOf, type Payout, type PayoutState } from '../../src/core/payout.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import { adoptPayouts } from './adopt-payouts.ts';
import { coinText } from './coins.ts';
import {
  type Answer,
  type Command,
  type Installation,
  moment,
  notFound,
  table,
  textOption,
  usage,
  wholeOption,
} from './command.ts';

const states: readonly PayoutState[] = ['waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck'];
const kinds = [...paybackKinds, 'sweep', 'gas'] as const;
const LISTED_MAX = 1000;

export const payoutsList: Command = {
  name: 'payouts list',
  args: [],
  summary: 'List payouts (refunds, returns of held money, sweeps, gas), newest first.',
  options: {
    network: { value: 'KEY', help: 'only payouts on this network, such as live:mychain' },
    state: { value: 'STATE', help: states.join(', ') },
    kind: { value: 'KIND', help: kinds.join(', ') },
    limit: { value: 'N', help: `at most N payouts (50), up to ${LISTED_MAX}` },
  },
  async run(input, { database, config }) {
    const chosen = <T extends string>(name: string, choices: readonly T[]): T | undefined => {
      const text = textOption(input, name);
      const choice = choices.find((one) => one === text);
      if (text !== undefined && !choice) throw usage(`--${name} is "${text}", expected ${choices.join(' or ')}`);
      return choice;
    };
    const network = textOption(input, 'network');
    const state = chosen('state', states);
    const kind = chosen('kind', kinds);
    const payouts = await database.listPayouts({
      ...(network !== undefined && { network: networkOf(config, network).key }),
      ...(state && { state }),
      ...(kind && { kind }),
      limit: wholeOption(input, 'limit', 1, LISTED_MAX, 50),
    });
    const rows = payouts.map((payout) => [
      payout.id,
      payout.intent.kind,
      payout.network,
      payout.state,
      amountOf(payout, config),
      moment(payout.createdAtMs),
      delayOf(payout)?.code ?? '',
    ]);
    return {
      json: payouts.map((payout) => shown(payout, config)),
      lines: table([['ID', 'KIND', 'NETWORK', 'STATE', 'AMOUNT', 'CREATED', 'WAITING FOR'], ...rows]),
    };
  },
};

export const payoutsShow: Command = {
  name: 'payouts show',
  args: ['id'],
  summary: 'Show a payout, its attempts, and what it waits for.',
  options: {},
  async run(input, { database, config }) {
    const payout = await database.findPayout(input.args[0] ?? '');
    if (!payout) throw unknownPayout(input.args[0] ?? '');
    const attempts = await database.listPayoutAttempts(payout.id);
    const delay = delayOf(payout);
    const rows = attempts.map((one) => [
      `${one.generation}.${one.attempt}`,
      one.nonce === null ? '-' : String(one.nonce),
      one.tx ?? 'not signed',
      moment(one.signedAtMs),
      moment(one.sentAtMs),
      one.answer ?? '',
    ]);
    return {
      json: { ...shown(payout, config), attempts: attempts.map(shownAttempt) },
      lines: [
        `${payout.intent.kind} ${payout.id} on ${payout.network}: ${amountOf(payout, config)}, ${payout.state}`,
        ...(delay ? [`${delay.code}: ${delay.message}`] : []),
        ...(payout.tx ? [`transaction ${payout.tx}`] : []),
        '',
        ...table([['ATTEMPT', 'NUMBER', 'TRANSACTION', 'SIGNED', 'SENT', 'NODE’S ANSWER'], ...rows]),
      ],
    };
  },
};

export const payoutsResume: Command = {
  name: 'payouts resume',
  needsSandbox: true,
  args: ['id or network'],
  summary: 'Resume a stuck payout, or the halted wallets of a network.',
  options: {
    anew: {
      help: 'sign the payout again, if all its attempts have failed or another transaction has used their number',
    },
  },
  async run(input, installation) {
    const name = input.args[0] ?? '';
    const network = installation.config.networks.find(({ key }) => key === name);
    if (network) return resumeWallets(network, installation);
    const { database, clock } = installation;
    const stuck = await database.findPayout(name);
    // An attempt that this database does not know may have paid it already.
    if (stuck && input.options.anew === true) await adopt(networkOf(installation.config, stuck.network), installation);
    if (await database.resumePayout(name, input.options.anew === true, clock.nowMs())) {
      return {
        json: { id: name, resumed: true },
        lines: [`resumed ${name}; \`quayside payouts show ${name}\` shows its progress`],
      };
    }
    if (!stuck) throw unknownPayout(name);
    throw permanent(
      'not_stuck',
      `${name} is not stuck: it is in progress or has ended (\`quayside payouts show ${name}\`)`,
    );
  },
};

export const payoutsAdopt: Command = {
  name: 'payouts adopt',
  args: ['network'],
  summary:
    'After restoring a backup: adopt from the signer what it has signed since. First stop every other installation.',
  options: {},
  async run(input, installation) {
    const network = networkOf(installation.config, input.args[0] ?? '');
    const { signatures, added } = await adopt(network, installation);
    return {
      json: { network: network.key, signatures, added },
      lines: [
        `the signer has signed ${signatures} attempts on ${network.key}; ${added} were missing here and are now added`,
        'payouts resume within half a minute',
      ],
    };
  },
};

/** Adopts what the signer has signed. @throws Fault permanent `no_signer` */
async function adopt({ key, family }: NetworkConfig, { database, config, clock }: Installation) {
  if (!config.signer)
    throw permanent('no_signer', 'the configuration has no `signer`, so nothing was ever paid out here');
  const signer = openConfiguredSigner(config.signer);
  try {
    const rules = chains[family].spendRules;
    return await adoptPayouts({ network: key, rules, signer, database, nowMs: clock.nowMs() });
  } finally {
    await signer.close();
  }
}

/** Resumes halted wallets from the sequence number that is free at finality, as the node reports it. */
async function resumeWallets(network: NetworkConfig, { database }: Installation): Promise<Answer> {
  const { key, family } = network;
  const halted = (await database.haltedLanes()).filter((lane) => lane.network === key);
  const { payouts } = chains[family];
  if (halted.length === 0 || !payouts) throw permanent('not_halted', `no wallet on ${key} is halted`);
  const node = (await payouts()).openPayoutNode(payoutNodeOptions(network));
  try {
    for (const { payer } of halted) {
      const sequence = await node.sequence(payer);
      if (sequence?.final === null) {
        const why = `the node of ${key} no longer has the final state, which counts the transactions of wallet ${payer}`;
        throw transient('node_history_pruned', `${why}: wait until finality no longer lags, or use an archive node`);
      }
      await database.resumeLane(key, payer, sequence?.final ?? 0);
    }
  } finally {
    await node.close();
  }
  const payers = halted.map(({ payer }) => payer);
  return { json: { network: key, resumed: payers }, lines: payers.map((payer) => `resumed wallet ${payer} on ${key}`) };
}

function networkOf({ networks }: Config, key: string): NetworkConfig {
  const network = networks.find((one) => one.key === key);
  if (network) return network;
  throw notFound(`there is no network ${key}, only ${networks.map((one) => one.key).join(', ')}`);
}

const unknownPayout = (id: string) => notFound(`there is no payout ${id}; \`quayside payouts list\` shows all`);

const assetOf = ({ intent }: Payout): Asset => (intent.kind === 'gas' ? 'native' : intent.currency);

const amountOf = (payout: Payout, { networks }: Config): string =>
  coinText(networks, payout.network, assetOf(payout), unitsOf(payout.intent));

const shown = (payout: Payout, config: Config) => ({
  id: payout.id,
  kind: payout.intent.kind,
  network: payout.network,
  state: payout.state,
  amount: amountOf(payout, config),
  generation: payout.generation,
  waits_for: delayOf(payout),
  transaction_hash: payout.tx,
  fee: payout.feeUnits === null ? null : coinText(config.networks, payout.network, 'native', payout.feeUnits),
  created_at: moment(payout.createdAtMs),
  settled_at: payout.settledAtMs === null ? null : moment(payout.settledAtMs),
});

const shownAttempt = (one: Attempt) => ({
  generation: one.generation,
  attempt: one.attempt,
  payer: one.payer,
  number: one.nonce,
  terms: one.terms,
  transaction_hash: one.tx,
  signed_at: one.signedAtMs === null ? null : moment(one.signedAtMs),
  sent_at: one.sentAtMs === null ? null : moment(one.sentAtMs),
  node_said: one.answer,
});
