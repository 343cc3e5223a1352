/**
 * What a command needs that asks the nodes of a network and the signer.
 */
import { payoutNodeOptions } from '../../indexers/payouts/nodes.ts';
import { createPayoutWallets, type PayoutWallets } from '../../indexers/payouts/wallets.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import type { Signer } from '../../src/signer/signer.ts';
import type { Installation } from './command.ts';

type PayoutAccess = Readonly<{
  node: PayoutNode;
  signer: Signer;
  wallets: PayoutWallets;
  rules: SpendRules;
}>;

/**
 * Opens the nodes and the signer for `work`.
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
