/** Connection options of a follower's node. */
import type { NodeOptions } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';

export const REQUEST_TIMEOUT_MS = 15_000;
/** A full Ethereum block's receipts take about 1 MB as JSON. The limit is for nodes whose answer never ends. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;
const REQUESTS_MAX = 16;
/** A working node announces several blocks in this time. */
const IDLE_MS_MIN = 15_000;
const IDLE_BLOCKS = 5;

export function followerNodeOptions({
  url,
  finalityUrl,
  rpcUrl,
  tokens,
  blockTimeMs,
}: Pick<NetworkConfig, 'url' | 'finalityUrl' | 'rpcUrl' | 'tokens' | 'blockTimeMs'>): NodeOptions {
  return {
    url,
    ...(finalityUrl !== undefined && { finalityUrl }),
    ...(rpcUrl !== undefined && { rpcUrl }),
    tokens,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    responseBytesMax: RESPONSE_BYTES_MAX,
    idleMsMax: Math.max(IDLE_MS_MIN, IDLE_BLOCKS * blockTimeMs),
    concurrencyMax: REQUESTS_MAX,
  };
}
