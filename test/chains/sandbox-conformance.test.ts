/** To any client, the sandbox's nodes must look like real ones; TRON's also through the bridge. */
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { type ChainBench, chainConformance } from '../conformance/chain.ts';
import { accountKeyOf, simulatedChains, startSimulatedNode, writtenBy } from '../support/simulated-node.ts';
import { openConsumer, startTronBridge, type TronBridge } from '../support/tron-bridge.ts';
import { until } from '../support/until.ts';

/** Until it reaches the node, the bridge refuses all consumers. */
const untilOpen = (bridge: TronBridge): Promise<void> =>
  until('the bridge is open', async () => {
    try {
      (await openConsumer(bridge.url)).socket.terminate();
      return true;
    } catch {
      return false;
    }
  });

async function makeBench(family: Family): Promise<ChainBench> {
  const node = await startSimulatedNode({ family, seed: 'conformance' });
  const bridge = family === 'tron' ? await startTronBridge(node.url) : null;
  if (bridge) await untilOpen(bridge);
  const { address } = chains[family];
  const payer = accountKeyOf(family, 'payer');
  // Solana's RPC is found one port below its PubSub.
  const pushing = { url: bridge?.url ?? node.url, pushes: true };
  let keys = 0;
  return {
    chain: chains[family],
    urls: [pushing, { url: node.httpUrl, pushes: false }],
    ...(family === 'solana' && { addsUp: true }),
    chainId: simulatedChains[family].chainId,
    tokens: simulatedChains[family].tokens,
    payer,
    freshKey: () => accountKeyOf(family, `payee ${keys++}`),
    async pay(kind, outputs) {
      const moved = outputs.map(({ token, ...output }) => ({ ...output, token: address.parse(token.address) ?? '' }));
      return writtenBy[family].transaction(node.world.pay({ kind, from: payer, outputs: moved }));
    },
    async mine(blocks = 1) {
      for (let left = blocks; left > 0; left--) node.world.mine(left % 4 === 0 ? 3 : 0);
    },
    async reorg(depth, keep) {
      node.world.reorg({ depth, keep, blocks: depth + 1 });
    },
    stop: node.stop,
    async start() {
      await node.start();
      if (bridge) await untilOpen(bridge);
    },
    async close() {
      await bridge?.stop();
      await node.close();
    },
  };
}

chainConformance('EVM on the sandbox', () => makeBench('evm'));
chainConformance('TRON on the sandbox', () => makeBench('tron'));
chainConformance('Solana on the sandbox', () => makeBench('solana'));
