/** Parts shared by commands about payouts: the nodes, the signer and its signatures, and payouts as text. */
import { adoptPayouts, isBehindSigner, NOT_ADOPTED } from '../../indexers/payouts/journal.ts';
import { payoutNodeOptions } from '../../indexers/payouts/nodes.ts';
import { createPayoutWallets, type PayoutWallets } from '../../indexers/payouts/wallets.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import { delayOf, type Payout } from '../../src/core/payout.ts';
import { openConfiguredSigner, type Signer } from '../../src/signer/client.ts';
import { type Input, type Installation, moment, notFound } from './command.ts';

type PayoutAccess = Readonly<{
  node: PayoutNode;
  signer: Signer;
  wallets: PayoutWallets;
  rules: SpendRules;
}>;

/**
 * Opens the nodes and the signer of a network for `work`.
 * @throws Fault permanent `no_signer`, `no_payouts`
 */
export async function withPayoutAccess<T>(
  network: NetworkConfig,
  { config }: Pick<Installation, 'config'>,
  work: (access: PayoutAccess) => Promise<T>,
): Promise<T> {
  const { key, family, tokens } = network;
  const { payouts, spendRules: rules } = chains[family];
  if (!config.signer)
    throw permanent('no_signer', 'the configuration has no `signer`, so nothing was ever paid out here');
  if (!payouts) throw permanent('no_payouts', `nothing is paid out on ${key}`);
  const signer = openConfiguredSigner(config.signer);
  const node = (await payouts()).openPayoutNode(payoutNodeOptions(network));
  try {
    return await work({ node, signer, rules, wallets: createPayoutWallets({ network: key, tokens, rules, signer }) });
  } finally {
    await Promise.all([node.close(), signer.close()]);
  }
}

/** Adopts what the signer has signed. */
export async function adopt(
  { key }: NetworkConfig,
  { progress }: Pick<Input, 'progress'>,
  { database: { payouts }, clock }: Pick<Installation, 'database' | 'clock'>,
  { signer, rules }: Pick<PayoutAccess, 'signer' | 'rules'>,
) {
  const onProgress = (count: number) => progress.show(`compared ${count} signatures on ${key}`);
  const adopting = adoptPayouts({ network: key, rules, signer, payouts, nowMs: clock.nowMs(), onProgress });
  return adopting.finally(progress.end);
}

/**
 * Adopts what the signer has signed if this database lacks some of it.
 * @throws Fault permanent `payouts_not_adopted` in a dry run, which changes nothing
 */
export async function adoptIfBehind(
  network: NetworkConfig,
  input: Input,
  installation: Installation,
  access: PayoutAccess,
): Promise<void> {
  const { key } = network;
  if (!(await isBehindSigner(key, installation.database, access.signer))) return;
  const text = `the signer has signed more than is known here: run \`quayside payout reconcile ${key}\``;
  if (input.options.dryRun === true) throw permanent(NOT_ADOPTED, text);
  await adopt(network, input, installation, access);
}

export const unknownPayout = (id: string) => notFound(`there is no payout ${id}; \`quayside payout list\` shows all`);

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
