/**
 * Checks whether a node is the configured one.
 */
import type { Node, NodeIdentity } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** Identity of the nodes by the settings. */
type Expected = Pick<NetworkConfig, 'key' | 'chainId' | 'tokens'>;

/**
 * Creates the proof, which is not made yet. A node may be replaced without any failed request, so no proof is valid for
 * ever.
 */
export function createIdentityProof(
  network: Expected,
  node: Pick<Node, 'identity' | 'health'>,
  clock: Pick<Clock, 'nowMs'>,
) {
  let proven: Readonly<{ atMs: number; connections: number }> | null = null;
  return {
    /**
     * Checks the node's identity again, unless it was proven less than `ageMsMax` ago on the present connection.
     * @throws Fault as `checkIdentity` does, or transient if the node does not answer
     */
    async renew(ageMsMax: number): Promise<void> {
      const now = { atMs: clock.nowMs(), connections: node.health().connections };
      if (proven?.connections === now.connections && now.atMs - proven.atMs < ageMsMax) return;
      checkIdentity(network, await node.identity());
      proven = now;
    },
  };
}

/**
 * Compares the node's identity with the configuration. Money on another chain, or counted with other decimals, would be
 * credited wrongly. A difference therefore halts the network.
 * @throws Fault permanent `chain_id_mismatch` or `decimals_mismatch`, naming the expected and the found value;
 * transient `token_missing`: a node that has just started may show an old state, without a token
 */
function checkIdentity(network: Expected, found: NodeIdentity): void {
  if (found.chainId !== network.chainId) {
    throw permanent(
      'chain_id_mismatch',
      `${network.key}: expected a node of chain ${network.chainId}, found chain ${found.chainId}. Set the network's url to a node of the right chain, or correct its chain_id, and restart. If the node proves to be the right one for a minute, the network continues by itself`,
    );
  }
  for (const { symbol, address, decimals } of network.tokens) {
    const shown = found.decimals.get(address);
    if (shown instanceof Fault) throw transient('token_missing', shown.message);
    if (shown === decimals) continue;
    throw permanent(
      'decimals_mismatch',
      `${network.key}: expected ${symbol} at ${address} to have ${decimals} decimals, found ${shown ?? 'none'}. Correct the token's address or decimals, and restart. If the node shows the expected value for a minute, the network continues by itself`,
    );
  }
}
