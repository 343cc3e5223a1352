/**
 * The nodes of a network for payouts, and the chain's own SDK, which reads signed bytes before they are sent. The SDK
 * is loaded with the first payout.
 */

import type { Chain, Node } from '../../src/chains/chain.ts';
import { differencesFrom } from '../../src/chains/second-opinion.ts';
import type { PayoutNode, PayoutNodeOptions, SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type Fault, transient } from '../../src/core/fault.ts';
import type { SignedAttempt } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/** Answers about single transactions and wallets are small. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * If the node does not report finality, a block counts as final once `reorg_depth_max` no longer allows it to be
 * replaced.
 */
export function payoutNodeOptions(network: NetworkConfig): PayoutNodeOptions {
  const { url, finalityUrl, rpcUrl, witnessUrl, chainId, tokens, reorgDepthMax, payoutExpiryMs } = network;
  return {
    url,
    ...(finalityUrl !== undefined && { finalityUrl }),
    ...(rpcUrl !== undefined && { rpcUrl }),
    ...(witnessUrl !== undefined && { witnessUrl }),
    chainId,
    tokens,
    finalDepth: reorgDepthMax,
    ...(payoutExpiryMs !== undefined && { expiryMs: payoutExpiryMs }),
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    responseBytesMax: RESPONSE_BYTES_MAX,
  };
}

/** Returns the fault of a node without the final state, which cannot count a wallet's final nonces. */
export const finalCountLost = (network: NetworkKey, payer: string): Fault =>
  transient(
    'node_history_pruned',
    `the node of ${network} no longer has the final state, so the final transactions of ${payer} cannot be counted: wait until ` +
      'finality no longer lags, or use an archive node',
  );

/** Returns how signed bytes differ from the order, one sentence each; none if they agree. */
export type SecondOpinion = (draft: SpendDraft, attempt: SignedAttempt) => Promise<readonly string[]>;

export const createSecondOpinion =
  (
    chain: Pick<Chain, 'secondOpinion'>,
    { chainId, tokens }: Pick<NetworkConfig, 'chainId' | 'tokens'>,
  ): SecondOpinion =>
  async (draft, attempt) => {
    const { readBySdk } = await chain.secondOpinion();
    return differencesFrom({ draft, attempt, chainId, tokens }, readBySdk);
  };

/** The parts of a network's payouts. */
export type PayerOptions = Readonly<{
  network: Pick<
    NetworkConfig,
    'key' | 'family' | 'mode' | 'tokens' | 'blockTimeMs' | 'reorgDepthMax' | 'nativeSymbol' | 'sweep' | 'payoutExpiryMs'
  >;
  rules: SpendRules;
  node: PayoutNode;
  /** The follower's node. */
  chainNode: Pick<Node, 'head' | 'finalized'>;
  signer: PayingSigner;
  secondOpinion: SecondOpinion;
  database: Database;
  clock: Clock;
  log: Log;
}>;
