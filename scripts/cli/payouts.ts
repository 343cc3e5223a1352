/**
 * Lists payouts, and adopts signatures after a restore.
 */

import { adoptPayouts, isBehindSigner, NOT_ADOPTED } from '../../indexers/payouts/journal.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import { type Intent, paybackKinds } from '../../src/core/intent.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import { delayOf, type Payout, payoutStates } from '../../src/core/payout.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import type { Signer } from '../../src/signer/signer.ts';
import { type Command, type Installation, moment, notFound, textOption, usage, wholeOption } from './command.ts';
import { networkOf } from './network-name.ts';
import { openProgress } from './output.ts';
import { table } from './table.ts';

const kinds = [...paybackKinds, 'sweep', 'gas'] as const;
const LISTED_MAX = 1000;

export const payoutsList: Command = {
  name: 'payout list',
  args: [],
  summary: 'List payouts (refunds, returns of held money, sweeps, and gas and loans for them), newest first.',
  options: {
    network: { value: 'KEY', help: 'only payouts on this network, such as live:mychain' },
    state: { value: 'STATE', help: payoutStates.join(', ') },
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
    const state = chosen('state', payoutStates);
    const kind = chosen('kind', kinds);
    const payouts = await database.payouts.list({
      ...(network !== undefined && { network: networkOf(config.networks, network).key }),
      ...(state && { state }),
      ...(kind && { kind }),
      limit: wholeOption(input, 'limit', 1, LISTED_MAX, 50),
    });
    const rows = payouts.map((payout) => [
      payout.id,
      kindText(payout.intent),
      payout.network,
      payout.state,
      amountOf(payout, config),
      moment(payout.createdAtMs),
      delayOf(payout)?.code ?? '',
    ]);
    return {
      json: payouts.map((payout) => shownPayout(payout, config)),
      lines: table([['ID', 'KIND', 'NETWORK', 'STATE', 'AMOUNT', 'CREATED', 'WAITING FOR'], ...rows]),
    };
  },
};

/** Adopts what the signer has signed. @throws Fault permanent `no_signer` */
export async function adopt({ key, family }: NetworkConfig, { database, config, clock }: Installation) {
  if (!config.signer)
    throw permanent('no_signer', 'the configuration has no `signer`, so nothing was ever paid out here');
  const signer = openConfiguredSigner(config.signer);
  const progress = openProgress();
  try {
    const rules = chains[family].spendRules;
    const onProgress = (count: number) => progress.show(`compared ${count} signatures on ${key}`);
    return await adoptPayouts({
      network: key,
      rules,
      signer,
      payouts: database.payouts,
      nowMs: clock.nowMs(),
      onProgress,
    });
  } finally {
    progress.end();
    await signer.close();
  }
}

/**
 * Adopts what the signer has signed if this database lacks some of it.
 * @throws Fault permanent `payouts_not_adopted` in a dry run, which changes nothing
 */
export async function adoptIfBehind(
  network: NetworkConfig,
  installation: Installation,
  signer: Pick<Signer, 'fence' | 'journal'>,
  isDryRun: boolean,
): Promise<void> {
  const { key } = network;
  if (!(await isBehindSigner(key, installation.database, signer))) return;
  if (isDryRun) {
    throw permanent(
      NOT_ADOPTED,
      `the signer has signed more than is known here: run \`quayside payout reconcile ${key}\``,
    );
  }
  await adopt(network, installation);
}

export const unknownPayout = (id: string) => notFound(`there is no payout ${id}; \`quayside payout list\` shows all`);

/** Returns what people call a payout. Loans of energy are gas payouts, and listed with these. */
export function kindText(intent: Intent): string {
  if (intent.kind !== 'gas' || intent.form === 'transfer') return intent.kind;
  return intent.form === 'delegate' ? 'loan' : 'reclaimed loan';
}

export const amountOf = (payout: Payout, { networks }: Config): string =>
  coinText(networks, payout.network, assetOf(payout.intent), unitsOf(payout.intent));

/** Returns a payout for programs. */
export const shownPayout = (payout: Payout, config: Config) => ({
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
