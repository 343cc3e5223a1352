/**
 * Checks whether a node is the configured one.
 *
 * @module
 */
import type { Node, NodeIdentity } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** What a configuration says about its nodes. */
type Expected = Pick<NetworkConfig, 'key' | 'chainId' | 'tokens'>;

export interface IdentityProof {
  /**
   * Checks the node's identity again, unless it was proven less than `ageMsMax` ago on the present connection.
   * @throws Fault as `checkIdentity` does, or transient if the node does not answer
   */
  renew(ageMsMax: number): Promise<void>;
}

/**
 * Starts without a proof. A node may be replaced without any failed request, so no proof is valid for ever.
 * @param tipNumber returns the newest block that was read from the network
 */
export function createIdentityProof(
  network: Expected,
  node: Pick<Node, 'identity' | 'head' | 'health'>,
  clock: Pick<Clock, 'nowMs'>,
  tipNumber: () => number,
): IdentityProof {
  /** A node that has yet to reach what was read already cannot be expected to know the tokens. */
  async function found(): Promise<NodeIdentity> {
    try {
      return await node.identity(network.chainId);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'token_not_a_contract') throw error;
      const { number } = await node.head();
      if (number >= tipNumber()) throw error;
      throw transient(
        'node_syncing',
        `${network.key}: the node's newest block is ${number}, but block ${tipNumber()} was read already, and it lacks a token's contract: wait until it has caught up, or give it its database back`,
        error,
      );
    }
  }

  let proven: Readonly<{ atMs: number; connections: number }> | null = null;
  return {
    async renew(ageMsMax) {
      const now = { atMs: clock.nowMs(), connections: node.health().connections };
      if (proven?.connections === now.connections && now.atMs - proven.atMs < ageMsMax) return;
      checkIdentity(network, await found());
      proven = now;
    },
  };
}

/**
 * Compares the node's identity with the configuration. Money on another chain, or counted with other decimals, would be
 * credited wrongly, so a difference stops the network until a person has corrected it.
 * @throws Fault permanent `chain_id_mismatch` or `decimals_mismatch`, naming the expected and the found value
 */
function checkIdentity(network: Expected, found: NodeIdentity): void {
  if (found.chainId !== network.chainId) {
    throw permanent(
      'chain_id_mismatch',
      `${network.key}: expected a node of chain ${network.chainId}, found chain ${found.chainId}. Set the network's url to a node of the right chain, or correct its chain_id, and restart`,
    );
  }
  for (const { symbol, address, decimals } of network.tokens) {
    const shown = found.decimals.get(address);
    if (shown === decimals) continue;
    throw permanent(
      'decimals_mismatch',
      `${network.key}: expected ${symbol} at ${address} to have ${decimals} decimals, found ${shown ?? 'none'}. Correct the token's address or decimals, and restart`,
    );
  }
}
