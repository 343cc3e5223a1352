/**
 * A network's configuration, as `loadConfig` would give it.
 */
import type { Family } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { SimulatedChain } from '../../src/sandbox/families.ts';
import { plainDustFloorPar, plainSweepPolicy } from './plain-policies.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens } from './sandbox-node.ts';
import { SOLANA_CHAIN_ID, solanaTokens } from './solana-node.ts';
import { TRON_CHAIN_ID, tronTokens } from './tron-node.ts';

/** The chain that a simulated node of each family shows. */
export const simulatedChains: Readonly<Record<Family, SimulatedChain>> = {
  evm: { family: 'evm', chainId: SANDBOX_CHAIN_ID, tokens: sandboxTokens },
  tron: { family: 'tron', chainId: TRON_CHAIN_ID, tokens: tronTokens },
  solana: { family: 'solana', chainId: SOLANA_CHAIN_ID, tokens: solanaTokens },
};

/** A network of the simulated node, fast and shallow by default. */
export function testNetwork(change: Partial<NetworkConfig> & Pick<NetworkConfig, 'name'>): NetworkConfig {
  return {
    ...simulatedChains[change.family ?? 'evm'],
    key: `test:${change.name}`,
    mode: 'test',
    url: 'ws://127.0.0.1:0',
    title: change.name,
    exchangeName: change.name,
    wallets: {},
    dustFloorPar: plainDustFloorPar,
    confirmations: [{ blocks: 3 }],
    xpub: 'unused',
    blockTimeMs: 1000,
    inclusionGraceS: 15,
    reorgDepthMax: 20,
    pollMs: 100,
    sweep: plainSweepPolicy,
    sandbox: true,
    ...change,
  };
}
