/**
 * A network's configuration, as `loadConfig` would give it.
 * @module
 */
import type { NetworkConfig } from '../../src/config.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens } from './sandbox-node.ts';

/** A network of the simulated node, fast and shallow unless told otherwise. */
export function testNetwork(change: Partial<NetworkConfig> & Pick<NetworkConfig, 'name'>): NetworkConfig {
  return {
    key: `test:${change.name}`,
    family: 'evm',
    mode: 'test',
    url: 'ws://127.0.0.1:0',
    chainId: SANDBOX_CHAIN_ID,
    confirmations: { kind: 'depth', blocks: 3 },
    tokens: sandboxTokens,
    xpub: 'unused',
    blockTimeMs: 1000,
    reorgDepthMax: 20,
    pollMs: 100,
    sandbox: true,
    ...change,
  };
}
