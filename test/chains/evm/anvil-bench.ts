/**
 * The EVM family on a real node, anvil or another, with contracts compiled by solc. USDT can keep a fee; USDC has 18
 * decimals, as on BSC.
 */
import { chains } from '../../../src/chains/index.ts';
import type { Token } from '../../../src/core/transfer.ts';
import type { ChainBench } from '../../conformance/chain.ts';
import { type Anvil, startAnvil } from '../../support/anvil.ts';
import { deployBatchSender, deployFeeToken, deployLookAlike, deployToken } from '../../support/contracts.ts';
import type { EvmNode } from '../../support/evm-node.ts';

const CHAIN_ID = 56;
/** 0.2 %, the highest fee that USDT's contract allows. */
const FEE_BASIS_POINTS = 20n;

const keyOf = (address: string): string => address.slice(2).toLowerCase();

/** The bench, and the node behind it for what only a real one can be asked. */
export async function makeAnvilBench(): Promise<ChainBench & Readonly<{ anvil: Anvil }>> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, slotsInAnEpoch: 8 });
  return { ...(await makeContractBench(anvil)), anvil };
}

/** Opens the bench on any node that makes blocks on request. */
export async function makeContractBench(node: EvmNode): Promise<ChainBench> {
  const usdt = await deployFeeToken(node, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployToken(node, { symbol: 'USDC', decimals: 18 });
  const batch = await deployBatchSender(node);
  const lookAlike = await deployLookAlike(node);
  const contracts = new Map([usdt, usdc].map((contract) => [contract.address, contract]));
  const [payer = '', delegate = ''] = node.accounts;
  for (const contract of contracts.values()) {
    for (const spender of [batch.address, delegate]) await contract.approve(spender, 10n ** 26n);
  }
  await node.mine();
  let keys = 0;

  return {
    chain: chains.evm,
    urls: [
      { url: node.wsUrl, pushes: true },
      { url: node.httpUrl, pushes: false },
    ],
    chainId: String(node.chainId),
    tokens: [
      { symbol: 'USDT', address: usdt.address, decimals: 6 },
      { symbol: 'USDC', address: usdc.address, decimals: 18 },
    ] satisfies [Token, Token],
    payer: keyOf(payer),
    freshKey() {
      keys += 1;
      return keys.toString(16).padStart(40, 'a');
    },
    async pay(kind, outputs) {
      const [first] = outputs;
      const contract = first && contracts.get(first.token.address);
      if (!first || !contract) throw new Error('a payment has an output in a known token');
      const to = `0x${first.to}`;
      if (kind === 'contract') {
        return batch.sendFromCaller(
          contract.address,
          outputs.map((output) => [`0x${output.to}`, output.units]),
        );
      }
      if (kind === 'lookalike') return lookAlike.claimTransfer(payer, to, first.units);
      if (kind === 'failed') return contract.transfer(to, 10n ** 40n + first.units);
      if (kind === 'direct') return contract.transfer(to, first.units);
      if (kind === 'delegated') return contract.transferFrom(payer, to, first.units, { from: delegate });
      await usdt.setFee(FEE_BASIS_POINTS, 50_000_000n);
      const tx = await contract.transfer(to, first.units);
      await usdt.setFee(0n, 0n);
      return tx;
    },
    mine: node.mine,
    async reorg(depth, keep) {
      await node.reorg(depth, keep);
      if (keep === 'all') await node.mine();
    },
    stop: node.stop,
    start: node.start,
    close: node.close,
  };
}
