/**
 * Payouts on a real EVM node, anvil or another, that executes what the family's own signer signs. Its USDT returns
 * nothing and can keep a fee; its USDC, of 18 decimals, can be stopped, silenced and frozen.
 */

import { openPayoutNode } from '../../../src/chains/evm/node/payout-node.ts';
import { chains } from '../../../src/chains/index.ts';
import type { PayoutNode, PayoutNodeOptions, SpendNetwork } from '../../../src/chains/spend.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { deployFeeToken, deployGuardedToken } from '../../support/contracts.ts';
import type { EvmNode } from '../../support/evm-node.ts';
import { startLiar } from '../../support/liar.ts';
import { createSeedWallets } from '../seed-wallets.ts';

export const ETHER = 10n ** 18n;

/** @param finalBlocks on top of a block that make it final */
export async function makeContractPayouts(chain: EvmNode, finalBlocks: number) {
  const usdt = await deployFeeToken(chain, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployGuardedToken(chain, { symbol: 'USDC', decimals: 18 });
  const tokens: readonly Token[] = [
    { symbol: 'USDT', address: usdt.address, decimals: 6 },
    { symbol: 'USDC', address: usdc.address, decimals: 18 },
  ];
  const chainId = String(chain.chainId);
  const network: SpendNetwork = { chainId, tokens, treasury: '71'.repeat(20), feeUnitsMax: ETHER };
  const blind = await startLiar(chain);
  blind.tell((call) => (call === 'eth_getTransactionReceipt' ? null : undefined));
  const opened: PayoutNode[] = [];
  return {
    ...createSeedWallets(network),
    network,
    usdt,
    usdc,
    finalBlocks,
    chain: chains.evm,
    otherChainId: '5',
    unknownTx: `0x${'ab'.repeat(32)}`,
    unpayable: ['0'.repeat(40), usdt.address.slice(2).toLowerCase()],
    nativeUnits: ETHER,
    urls: [chain.httpUrl, chain.wsUrl],
    blindUrl: blind.httpUrl,
    open(more: Partial<PayoutNodeOptions> = {}) {
      const limits = { finalDepth: finalBlocks, requestTimeoutMs: 10_000, responseBytesMax: 1_000_000 };
      const node = openPayoutNode({ url: chain.httpUrl, chainId, tokens, ...limits, ...more });
      opened.push(node);
      return node;
    },
    giveNative: (key: string, units: bigint) => chain.give(`0x${key}`, units),
    giveTokens: (key: string, units: bigint) => usdt.transfer(`0x${key}`, units),
    mine: chain.mine,
    reorg: (depth: number) => chain.reorg(depth),
    held: (key: string) => usdt.balanceOf(`0x${key}`),
    native: async (key: string) => BigInt(await chain.rpc<string>('eth_getBalance', [`0x${key}`, 'latest'])),
    head: async () => (await chain.head()).number,
    async close() {
      for (const node of opened) await node.close();
      await blind.close();
      await chain.close();
    },
  };
}
