/**
 * How payouts reach the nodes of a network.
 */
import type { PayoutNodeOptions } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/** Answers about single transactions and wallets are small. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * If the node does not report finality, a block counts as final once the network's own settings no longer allow it to
 * be replaced.
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
