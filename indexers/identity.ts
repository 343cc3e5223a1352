/**
 * Whether a node is the one that the configuration means.
 * @module
 */
import type { NodeIdentity } from '../src/chains/chain.ts';
import type { NetworkConfig } from '../src/config.ts';
import { permanent } from '../src/core/fault.ts';

/**
 * Compares what a node says it is with the configuration. Money on another chain, or counted with other decimals, would be credited
 * wrongly, so a difference stops the network until a person has looked.
 * @throws Fault permanent `chain_id_mismatch` or `decimals_mismatch`, naming what was expected and what was found
 */
export function checkIdentity(network: Pick<NetworkConfig, 'key' | 'chainId' | 'tokens'>, found: NodeIdentity): void {
  if (found.chainId !== network.chainId) {
    throw permanent(
      'chain_id_mismatch',
      `${network.key}: expected a node of chain ${network.chainId}, found chain ${found.chainId}. Set "url" to a node of the right network, or correct "chainId", and restart`,
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
