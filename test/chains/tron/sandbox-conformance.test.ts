/**
 * TRON behind the seam: the sandbox's node as java-tron serves it, by its own HTTP interface and through the bridge
 * beside it.
 */
import { chains } from '../../../src/chains/index.ts';
import { type ChainBench, chainConformance } from '../../conformance/chain.ts';
import { accountKey, startSimulatedNode, TRON_CHAIN_ID, tronTokens } from '../../support/simulated-node.ts';
import { openConsumer, startTronBridge } from '../../support/tron-bridge.ts';
import { until } from '../../support/until.ts';

async function makeBench(): Promise<ChainBench> {
  const node = await startSimulatedNode({ family: 'tron', seed: 'conformance' });
  const bridge = await startTronBridge(node.url);
  const payer = accountKey('payer');
  let keys = 0;
  return {
    chain: chains.tron,
    urls: [
      { url: node.url, pushes: false },
      { url: bridge.url, pushes: true },
    ],
    chainId: TRON_CHAIN_ID,
    tokens: tronTokens,
    payer,
    freshKey() {
      keys += 1;
      return accountKey(`payee ${keys}`);
    },
    async pay(kind, outputs) {
      const moved = outputs.map(({ token, to, units }) => ({
        token: chains.tron.address.parse(token.address) ?? '',
        to,
        units,
      }));
      return node.world.pay({ kind, from: payer, outputs: moved });
    },
    async mine(blocks = 1) {
      for (let left = blocks; left > 0; left--) node.world.mine();
    },
    async reorg(depth, keep) {
      node.world.reorg({ depth, keep, blocks: depth + 1 });
    },
    stop: node.stop,
    async start() {
      await node.start();
      // Until it reaches the node again, the bridge refuses all consumers.
      await until('the bridge is open again', async () => {
        try {
          (await openConsumer(bridge.url)).socket.terminate();
          return true;
        } catch {
          return false;
        }
      });
    },
    async close() {
      await bridge.stop();
      await node.close();
    },
  };
}

chainConformance('TRON on the sandbox', makeBench);
