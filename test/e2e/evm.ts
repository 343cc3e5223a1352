/**
 * The EVM family for the end-to-end suites: anvils, or another node, with token contracts compiled by solc.
 */
import * as assert from 'uvu/assert';
import type { Currency } from '../../src/core/transfer.ts';
import type { FlowBench, FlowNetwork } from '../conformance/flow.ts';
import { startAnvil } from '../support/anvil.ts';
import {
  deployBatchSender,
  deployFeeToken,
  deployGuardedToken,
  deployLookAlike,
  deployToken,
  type TokenContract,
} from '../support/contracts.ts';
import type { EvmNode } from '../support/evm-node.ts';
import { type Json, openFlowInstallation } from '../support/instance.ts';
import { openPayoutShop, type PayoutChain } from '../support/payout-shop.ts';

const DEPTH = 4;
/** m/44'/60'/0'/0 of a seed of 32 bytes 0x07. */
export const XPUB =
  'xpub6Ew7EvtU5EcYekrZWg8pm8BqR1dMb9xqooABkmNCi4KNcEZDwx3r9GmFhgJFge8RAZPLo2UBh2bsCcbZcbqp1bKz5CahKv5ZnMRCH96oQAU';

export const addressOf = (session: Json): string => session.payment_options[0].address;

type Contracts = Readonly<Record<Currency, TokenContract>>;

async function flowNetwork(name: string, node: EvmNode, contracts: Contracts): Promise<FlowNetwork> {
  const batch = await deployBatchSender(node);
  const lookAlike = await deployLookAlike(node);
  const [holder = '', , , poor = '', other = '', stranger = '', friend = ''] = node.accounts;
  await node.mine(3);
  return {
    name,
    tokens: (['USDT', 'USDC'] as const).map((symbol) => ({ symbol, decimals: contracts[symbol].decimals })),
    required: DEPTH,
    pay: (session, currency, units) => contracts[currency].transfer(addressOf(session), units),
    async payTogether(outputs) {
      await contracts.USDT.transfer(
        batch.address,
        outputs.reduce((sum, [, units]) => sum + units, 0n),
      );
      await node.mine();
      return batch.sendOwn(
        contracts.USDT.address,
        outputs.map(([session, units]) => [addressOf(session), units]),
      );
    },
    async payWorthless(session, currency, units) {
      const [to, token] = [addressOf(session), contracts[currency]];
      await token.transfer(batch.address, units);
      await node.mine();
      const reverted = [
        await token.transfer(to, units, { from: poor }),
        await batch.sendOwnThenRevert(token.address, [[to, units]]),
      ];
      await batch.sendOwnUndoneInside(token.address, [[to, units]]);
      await token.transfer(to, 0n);
      await token.transferFrom(stranger, to, 0n);
      await lookAlike.claimTransfer(holder, to, units);
      await lookAlike.claimNftTransfer(holder, to, 7n);
      await node.mine();
      for (const tx of reverted) assert.is((await node.receipt(tx))?.status, '0x0');
    },
    mine: node.mine,
    async mineAlmost() {
      await node.mine(DEPTH - 2);
      return { confirmations: DEPTH - 1, blocks: DEPTH - 1 };
    },
    confirm: () => node.mine(DEPTH),
    head: async () => (await node.head()).number,
    async reorg(blocks) {
      await node.reorg(blocks);
    },
    async remine(blocks, tx, untilOrphaned) {
      const before = await node.receipt(tx);
      await node.reorg(blocks, 'all');
      await untilOrphaned();
      // This time a transfer with a higher fee, from another account with its own money, comes before it.
      await contracts.USDC.transferFrom(other, friend, 0n, { from: other, feeWei: 10n ** 11n });
      await node.mine();
      const after = await node.receipt(tx);
      assert.is.not(after?.logs[0]?.logIndex, before?.logs[0]?.logIndex);
      assert.is.not(after?.blockHash, before?.blockHash);
    },
    stop: node.stop,
    start: node.start,
  };
}

/** Two anvils act as Ethereum and BSC. */
export async function openEvmFlow(): Promise<FlowBench> {
  const sources = [
    { name: 'ethereum', node: await startAnvil({ chainId: 1 }), decimals: 6 },
    { name: 'bsc', node: await startAnvil({ chainId: 56 }), decimals: 18 },
  ];
  const networks: FlowNetwork[] = [];
  const settings: Record<string, object> = {};
  for (const { name, node, decimals } of sources) {
    const contracts = {
      USDT: await deployToken(node, { symbol: 'USDT', decimals }),
      USDC: await deployToken(node, { symbol: 'USDC', decimals }),
    };
    networks.push(await flowNetwork(name, node, contracts));
    settings[name] = {
      mode: 'test',
      url: node.wsUrl,
      xpub: XPUB,
      confirmations: { blocks: DEPTH, finality: null, tiers: null },
      reorg_depth_max: 40,
      block_time_ms: 1000,
      poll_ms: 1000,
      tokens: Object.entries(contracts).map(([symbol, { address }]) => ({ symbol, address, decimals })),
    };
  }
  const installation = await openFlowInstallation({ networks: settings, limits: { pool_target: 100 } });
  return {
    ...installation,
    networks,
    checkOptions({ payment_options: options }) {
      assert.is(new Set(options.map((one: Json) => one.address)).size, 1, 'one address on all networks');
    },
    async close() {
      await installation.close();
      for (const { node } of sources) await node.close();
    },
  };
}

/** The network's name in the operator's file, and what that file says about it beyond the usual. */
type PayoutNetwork = Readonly<{
  name: string;
  chainId: number;
  settings: Readonly<Record<string, unknown>>;
  /** Of the signer's policy. */
  approvers?: PayoutChain['approvers'];
}>;

export const ethereum: PayoutNetwork = { name: 'ethereum', chainId: 1, settings: {} };

/** An anvil with a block every 0.4 seconds, each final below four more. */
const startPayoutAnvil = (chainId: number): Promise<EvmNode> =>
  startAnvil({ chainId, slotsInAnEpoch: 2, mining: { everyS: 0.4 } });

/**
 * A shop that pays out over a node which makes blocks by itself: an anvil by default. USDT is Tether-like; the issuer
 * of USDC can pause it. The node is closed with the shop.
 */
export async function openEvmPayouts(network: PayoutNetwork = ethereum, started?: EvmNode) {
  const { name, chainId, settings, approvers } = network;
  const node = started ?? (await startPayoutAnvil(chainId));
  const usdt = await deployFeeToken(node, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployGuardedToken(node, { symbol: 'USDC', decimals: 6 });
  const contracts = { USDT: usdt, USDC: usdc };
  const word = (key: string) => `0x${key.padStart(64, '0')}`;
  const shop = await openPayoutShop({
    family: 'evm',
    name,
    ...(approvers && { approvers }),
    signerKnows: 'test:ethereum',
    tokens: [
      { symbol: 'USDT', address: usdt.address, decimals: 6 },
      { symbol: 'USDC', address: usdc.address, decimals: 6 },
    ],
    settings: {
      url: node.wsUrl,
      confirmations: { blocks: 2, finality: null, tiers: null },
      reorg_depth_max: 40,
      block_time_ms: 1000,
      poll_ms: 1000,
      payout_expiry_s: 10,
      ...settings,
    },
    policy: { chain_id: '1', fee_max: '0.1', gas_caps: { transaction: '0.1', day: '1' } },
    treasury: '71'.repeat(20),
    pay: (key, currency, units) => contracts[currency].transfer(`0x${key}`, units),
    fund: (key, coins) => node.give(`0x${key}`, BigInt(coins) * 10n ** 18n),
    held: (key, currency) => contracts[currency].balanceOf(`0x${key}`),
    async paid(from, to, currency) {
      const topics = [null, word(from), word(to)];
      const { address } = contracts[currency];
      const filter = { fromBlock: '0x0', toBlock: 'latest', address, topics };
      const logs = await node.rpc<readonly { data: string }[]>('eth_getLogs', [filter]);
      return logs.map(({ data }) => BigInt(data));
    },
    hasSucceeded: async (tx) => (await node.receipt(tx))?.status === '0x1',
    finalize: () => node.mine(48),
    reorg: () => node.reorg(1),
    close: node.close,
  });
  await shop.chain.fund(shop.refundWallet, 1);
  return { shop, node, usdt, usdc };
}
