/**
 * The TRON family for the end-to-end suites: simulated java-trons, one of them behind the bridge.
 */
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import type { FlowBench, PaymentNetwork } from '../conformance/flow.ts';
import { openFlowInstallation } from '../support/flow-shop.ts';
import { openPayoutShop } from '../support/payout-shop.ts';
import {
  type SimulatedNode,
  startSimulatedNode,
  TRON_CHAIN_ID,
  tronTokenKeys,
  tronTokens,
} from '../support/simulated-node.ts';
import { startTronBridge } from '../support/tron-bridge.ts';
import { simulatedNetwork } from './simulated-network.ts';

const DEPTH = 4;
/** m/44'/195'/0'/0 of a seed of 32 bytes 0x07. */
const XPUB =
  'xpub6FNxDEG5ck4z9cPspQ6Kgwo3gnQee2JmunzB5FhWM3wrk5qZSgdHWMQT8FC91cMNdhbQAaYwsxMsPH7smR4uoP9KebCyQLpMVCYvHNwTcQL';
const tokens = [tronTokens[0]];

function paymentNetwork(name: string, node: SimulatedNode): PaymentNetwork {
  const { world } = node;
  for (let left = 3; left > 0; left--) world.mine(5);
  return simulatedNetwork({
    ...{ name, node, tokens, tokenKeys: tronTokenKeys, required: DEPTH, confirmingBlocks: DEPTH },
    async mineAlmost() {
      for (let left = DEPTH - 2; left > 0; left--) world.mine(1);
      return { confirmations: DEPTH - 1, blocks: DEPTH - 1 };
    },
  });
}

/** One java-tron is read directly by HTTP, another through the bridge beside it. */
export async function openTronFlow() {
  const direct = await startSimulatedNode({ family: 'tron', seed: 'flow', chainId: '842000991' });
  const bridged = await startSimulatedNode({ family: 'tron', seed: 'flow bridged', chainId: '842000992' });
  const networks = [paymentNetwork('tron', direct), paymentNetwork('tron-bridged', bridged)] as const;
  const bridge = await startTronBridge(bridged.url);
  const settings = (url: string, chainId: string) => ({
    family: 'tron',
    mode: 'test',
    url,
    xpub: XPUB,
    chain_id: chainId,
    confirmations: { blocks: DEPTH, finality: null, tiers: null },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 250,
    tokens,
  });
  const installation = await openFlowInstallation({
    networks: { tron: settings(direct.url, '842000991'), 'tron-bridged': settings(bridge.url, '842000992') },
    limits: { pool_target: 100 },
  });
  const bench: FlowBench<PaymentNetwork> = {
    ...installation,
    networks,
    checkOptions(session) {
      for (const option of session.payment_options) {
        assert.match(option.address, /^T[1-9A-HJ-NP-Za-km-z]{33}$/);
        assert.is(option.qr_code_data, option.address);
        assert.match(decodeURIComponent(option.deep_link), `${installation.quayside.baseUrl}/pay/${session.id}`);
      }
    },
    async close() {
      await installation.close();
      await bridge.stop();
      await direct.close();
      await bridged.close();
    },
  };
  return { bench, nodes: { tron: direct, 'tron-bridged': bridged } };
}

const BLOCK_MS = 250;
/** Short beside the time that payers have: a test that lets it pass moves the chain's clock ahead of ours. */
const EXPIRY_S = 20;
const SUN_PER_TRX = 1_000_000n;

/** A java-tron that makes four blocks a second, and charges for energy and bandwidth. */
export async function openTronPayouts(confirmations: object) {
  let aheadMs = 0;
  const clock = { nowMs: () => systemClock.nowMs() + aheadMs };
  const node = await startSimulatedNode({ family: 'tron', seed: 'payouts', finalityDistance: 3, clock });
  const { world } = node;
  for (let left = 5; left > 0; left--) world.mine();
  const [tokenKey] = tronTokenKeys;
  const shop = await openPayoutShop({
    family: 'tron',
    name: 'tron',
    tokens,
    settings: {
      url: node.url,
      chain_id: TRON_CHAIN_ID,
      confirmations,
      reorg_depth_max: 40,
      block_time_ms: BLOCK_MS,
      poll_ms: 250,
      payout_expiry_s: EXPIRY_S,
    },
    policy: { chain_id: TRON_CHAIN_ID, fee_max: '50', gas_caps: { transaction: '50', day: '200' } },
    treasury: '71'.repeat(20),
    pay: async (key, _, units) => node.pay(key, units),
    fund: async (key, coins) => world.fund(key, BigInt(coins) * SUN_PER_TRX),
    held: async (key) => world.accounts().token(tokenKey, key),
    paid: async (from, to) =>
      world
        .transfers()
        .filter((transfer) => transfer.from === from && transfer.to === to)
        .map(({ units }) => units),
    hasSucceeded: async (tx) => world.find(tx) !== null,
    async reorg() {
      world.reorg({ depth: 1, keep: 'none', blocks: 2 });
    },
    faults: node.faults,
    stop: node.stop,
    start: node.start,
    close: node.close,
  });
  node.mineEvery(BLOCK_MS);
  const pass = (untilMs = clock.nowMs() + 2 * EXPIRY_S * 1000) => {
    aheadMs += Math.max(0, untilMs - clock.nowMs());
  };
  return { shop, node, pass };
}
