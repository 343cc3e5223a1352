/**
 * A network's configuration, as `loadConfig` would give it.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { plainDustFloorPar, plainSweepPolicy } from './plain-policies.ts';
import { simulatedChains } from './simulated-node.ts';

/** A network of the simulated node, fast and shallow by default. */
export function testNetwork(change: Partial<NetworkConfig> & Pick<NetworkConfig, 'name'>): NetworkConfig {
  return {
    ...simulatedChains[change.family ?? 'evm'],
    key: `test:${change.name}`,
    mode: 'test',
    url: 'ws://127.0.0.1:0',
    title: change.name,
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
