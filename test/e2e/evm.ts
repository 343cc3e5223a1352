/**
 * The EVM family for the end-to-end suites: anvils, with token contracts compiled by solc.
 * @module
 */
import * as assert from 'uvu/assert';
import type { Currency } from '../../src/core/transfer.ts';
import type { FlowBench, FlowNetwork } from '../conformance/flow.ts';
import { type Anvil, startAnvil } from '../support/anvil.ts';
import {
  deployBatchSender,
  deployFeeToken,
  deployGuardedToken,
  deployLookAlike,
  deployToken,
  type TokenContract,
} from '../support/contracts.ts';
import { openFlowInstallation } from '../support/flow-installation.ts';
import type { Json } from '../support/instance.ts';
import { openPayoutShop } from '../support/payout-shop.ts';

const DEPTH = 4;
/** m/44'/60'/0'/0 of a seed of 32 bytes 0x07. */
const XPUB =
  'xpub6Ew7EvtU5EcYekrZWg8pm8BqR1dMb9xqooABkmNCi4KNcEZDwx3r9GmFhgJFge8RAZPLo2UBh2bsCcbZcbqp1bKz5CahKv5ZnMRCH96oQAU';

export const addressOf = (session: Json): string => session.payment_options[0].address;

type Contracts = Readonly<Record<Currency, TokenContract>>;

async function flowNetwork(name: string, anvil: Anvil, contracts: Contracts): Promise<FlowNetwork> {
  const batch = await deployBatchSender(anvil);
  const lookAlike = await deployLookAlike(anvil);
  const [holder = '', , , poor = '', other = '', stranger = '', friend = ''] = anvil.accounts;
  await anvil.mine(3);
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
      await anvil.mine();
      return batch.sendOwn(
        contracts.USDT.address,
        outputs.map(([session, units]) => [addressOf(session), units]),
      );
    },
    async payWorthless(session, currency, units) {
      const [to, token] = [addressOf(session), contracts[currency]];
      await token.transfer(batch.address, units);
      await anvil.mine();
      const reverted = [
        await token.transfer(to, units, { from: poor }),
        await batch.sendOwnThenRevert(token.address, [[to, units]]),
      ];
      await batch.sendOwnUndoneInside(token.address, [[to, units]]);
      await token.transfer(to, 0n);
      await token.transferFrom(stranger, to, 0n);
      await lookAlike.claimTransfer(holder, to, units);
      await lookAlike.claimNftTransfer(holder, to, 7n);
      await anvil.mine();
      for (const tx of reverted) assert.is((await anvil.receipt(tx))?.status, '0x0');
    },
    mine: anvil.mine,
    async mineAlmost() {
      await anvil.mine(DEPTH - 2);
      return { confirmations: DEPTH - 1, blocks: DEPTH - 1 };
    },
    confirm: () => anvil.mine(DEPTH),
    head: async () => (await anvil.head()).number,
    async reorg(blocks) {
      await anvil.reorg(blocks);
    },
    async remine(blocks, tx, untilOrphaned) {
      const before = await anvil.receipt(tx);
      const raws = await anvil.reorg(blocks);
      await untilOrphaned();
      // This time a transfer with a higher fee, from another account with its own money, comes before it.
      await contracts.USDC.transferFrom(other, friend, 0n, { from: other, feeWei: 10n ** 11n });
      for (const raw of raws) await anvil.sendRaw(raw);
      await anvil.mine();
      const after = await anvil.receipt(tx);
      assert.is.not(after?.logs[0]?.logIndex, before?.logs[0]?.logIndex);
      assert.is.not(after?.blockHash, before?.blockHash);
    },
    stop: anvil.stop,
    start: anvil.start,
  };
}

/** Two anvils act as Ethereum and BSC. */
export async function openEvmFlow() {
  const [ethereum, bsc] = [await startAnvil({ chainId: 1 }), await startAnvil({ chainId: 56 })];
  const feeToken = await deployFeeToken(ethereum, { symbol: 'USDT', decimals: 6 });
  const onEthereum = { USDT: feeToken, USDC: await deployToken(ethereum, { symbol: 'USDC', decimals: 6 }) };
  const onBsc = {
    USDT: await deployToken(bsc, { symbol: 'USDT', decimals: 18 }),
    USDC: await deployToken(bsc, { symbol: 'USDC', decimals: 18 }),
  };
  const networks = [await flowNetwork('ethereum', ethereum, onEthereum), await flowNetwork('bsc', bsc, onBsc)] as const;
  const settings = (anvil: Anvil, contracts: Contracts) => ({
    mode: 'test',
    url: anvil.wsUrl,
    xpub: XPUB,
    confirmations: { kind: 'depth', blocks: DEPTH },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens: Object.entries(contracts).map(([symbol, { address, decimals }]) => ({ symbol, address, decimals })),
  });
  const installation = await openFlowInstallation({
    networks: { ethereum: settings(ethereum, onEthereum), bsc: settings(bsc, onBsc) },
    limits: { pool_target: 100 },
  });
  const bench: FlowBench = {
    ...installation,
    networks,
    checkOptions({ payment_options: options }) {
      assert.is(new Set(options.map((one: Json) => one.address)).size, 1, 'one address on all networks');
    },
    async close() {
      await installation.close();
      await ethereum.close();
      await bsc.close();
    },
  };
  return { bench, feeToken, ethereum: networks[0] };
}

/** The network's name in the operator's file, and what that file says about it beyond the usual. */
export type PayoutNetwork = Readonly<{ name: string; chainId: number; settings: Readonly<Record<string, unknown>> }>;

const ethereum: PayoutNetwork = { name: 'ethereum', chainId: 1, settings: {} };

/**
 * An anvil with a block each second, each final below four more. USDT is Tether-like; the issuer of USDC can pause it.
 */
export async function openEvmPayouts({ name, chainId, settings }: PayoutNetwork = ethereum) {
  const anvil = await startAnvil({ chainId, slotsInAnEpoch: 2, mining: { everyS: 1 } });
  const usdt = await deployFeeToken(anvil, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployGuardedToken(anvil, { symbol: 'USDC', decimals: 6 });
  const contracts = { USDT: usdt, USDC: usdc };
  const word = (key: string) => `0x${key.padStart(64, '0')}`;
  const shop = await openPayoutShop({
    family: 'evm',
    name,
    signerKnows: 'test:ethereum',
    tokens: [
      { symbol: 'USDT', address: usdt.address, decimals: 6 },
      { symbol: 'USDC', address: usdc.address, decimals: 6 },
    ],
    settings: {
      url: anvil.wsUrl,
      confirmations: { kind: 'depth', blocks: 2 },
      reorg_depth_max: 40,
      block_time_ms: 1000,
      poll_ms: 100,
      ...settings,
    },
    policy: { chain_id: '1', fee_max: '0.1', gas_caps: { transaction: '0.1', day: '1' } },
    treasury: '71'.repeat(20),
    pay: (key, currency, units) => contracts[currency].transfer(`0x${key}`, units),
    fund: (key, coins) => anvil.rpc('anvil_setBalance', [`0x${key}`, `0x${(BigInt(coins) * 10n ** 18n).toString(16)}`]),
    held: (key, currency) => contracts[currency].balanceOf(`0x${key}`),
    async paid(from, to, currency) {
      const topics = [null, word(from), word(to)];
      const { address } = contracts[currency];
      const filter = { fromBlock: '0x0', toBlock: 'latest', address, topics };
      const logs = await anvil.rpc<readonly { data: string }[]>('eth_getLogs', [filter]);
      return logs.map(({ data }) => BigInt(data));
    },
    hasSucceeded: async (tx) => (await anvil.receipt(tx))?.status === '0x1',
    finalize: () => anvil.mine(48),
    reorg: () => anvil.reorg(1),
    close: anvil.close,
  });
  await shop.chain.fund(shop.refundWallet, 1);
  return { shop, anvil, usdt, usdc };
}
