/**
 * Whether a node is the one that the configuration means.
 * @module
 */
import type { Node, NodeIdentity } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** What a configuration says about its nodes. */
type Expected = Pick<NetworkConfig, 'key' | 'chainId' | 'tokens'>;

export interface IdentityProof {
  /**
   * Asks the node who it is, unless it told so less than `ageMsMax` ago on the connection that still stands.
   * @throws Fault what `checkIdentity` throws, or transient when the node does not answer
   */
  renew(ageMsMax: number): Promise<void>;
}

/** Nothing is proven at first. A node may be swapped without a failed request, so no proof is good for ever. */
export function createIdentityProof(
  network: Expected,
  node: Pick<Node, 'identity' | 'health'>,
  clock: Pick<Clock, 'nowMs'>,
): IdentityProof {
  let proven: Readonly<{ atMs: number; connections: number }> | null = null;
  return {
    async renew(ageMsMax) {
      const now = { atMs: clock.nowMs(), connections: node.health().connections };
      if (proven?.connections === now.connections && now.atMs - proven.atMs < ageMsMax) return;
      checkIdentity(network, await node.identity());
      proven = now;
    },
  };
}

/**
 * Compares what a node says it is with the configuration. Money on another chain, or counted with other decimals, would
 * be credited wrongly, so a difference stops the network until a person has looked.
 * @throws Fault permanent `chain_id_mismatch` or `decimals_mismatch`, naming what was expected and what was found
 */
export function checkIdentity(network: Expected, found: NodeIdentity): void {
  if (found.chainId !== network.chainId) {
    throw permanent(
      'chain_id_mismatch',
      `${network.key}: expected a node of chain ${network.chainId}, found chain ${found.chainId}. Set "url" to a node of the right network, or correct "chain_id", and restart`,
    );
  }
  for (const { symbol, address, decimals } of network.tokens) {
    const shown = found.decimals.get(address);
    if (shown === decimals) continue;
    throw permanent(
      'decimals_mismatch',
      `${network.key}: expected ${symbol} at ${address} to have ${decimals} decimals, found ${shown ?? 'none'}. Correct the token's "address" or "decimals", and restart`,
    );
  }
}
