/** To any client, the sandbox's node must look like a real one. */
import { chains } from '../../../src/chains/index.ts';
import { type ChainBench, chainConformance } from '../../conformance/chain.ts';
import { accountKey, SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../../support/simulated-node.ts';

async function makeSandboxBench(): Promise<ChainBench> {
  const node = await startSimulatedNode({ family: 'evm', seed: 'conformance' });
  const [usdt, usdc] = sandboxTokens;
  if (!usdt || !usdc) throw new Error('the sandbox has two tokens');
  const payer = accountKey('payer');
  let keys = 0;
  return {
    chain: chains.evm,
    urls: [
      { url: node.wsUrl, pushes: true },
      { url: node.httpUrl, pushes: false },
    ],
    chainId: SANDBOX_CHAIN_ID,
    tokens: [usdt, usdc],
    payer,
    freshKey() {
      keys += 1;
      return accountKey(`payee ${keys}`);
    },
    async pay(kind, outputs) {
      const moved = outputs.map(({ token, to, units }) => ({ token: token.address.slice(2), to, units }));
      return `0x${node.world.pay({ kind, from: payer, outputs: moved })}`;
    },
    async mine(blocks = 1) {
      for (let left = blocks; left > 0; left--) node.world.mine();
    },
    async reorg(depth, keep) {
      node.world.reorg({ depth, keep, blocks: depth + 1 });
    },
    close: node.close,
  };
}

chainConformance('EVM on the sandbox', makeSandboxBench);
