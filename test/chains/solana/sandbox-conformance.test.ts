/** To our client, the simulated Solana node behaves like any family's node, skipped slots included. */
import { chains } from '../../../src/chains/index.ts';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { formatSignature } from '../../../src/sandbox/solana-render.ts';
import { chainConformance } from '../../conformance/chain.ts';
import { accountKeyOf, SOLANA_CHAIN_ID, solanaTokens, startSimulatedNode } from '../../support/simulated-node.ts';

chainConformance('Solana over the sandbox', async () => {
  const node = await startSimulatedNode({ family: 'solana', seed: 'conformance' });
  const { world } = node;
  let accounts = 0;
  return {
    chain: chains.solana,
    urls: [
      { url: node.url, rpcUrl: node.httpUrl, pushes: true },
      { url: node.httpUrl, pushes: false },
    ],
    addsUp: true,
    chainId: SOLANA_CHAIN_ID,
    tokens: solanaTokens,
    payer: accountKeyOf('solana', 'payer'),
    freshKey: () => accountKeyOf('solana', `payee ${accounts++}`),
    async pay(kind, outputs) {
      const moved = outputs.map(({ token, to, units }) => ({
        token: solanaAddress.parse(token.address) ?? '',
        to,
        units,
      }));
      return formatSignature(world.pay({ kind, from: accountKeyOf('solana', 'payer'), outputs: moved }));
    },
    async mine(blocks = 1) {
      for (let left = blocks; left > 0; left--) world.mine(left % 4 === 0 ? 3 : 0);
    },
    async reorg(depth, keep) {
      world.reorg({ depth, keep });
    },
    stop: node.stop,
    start: node.start,
    close: node.close,
  };
});
