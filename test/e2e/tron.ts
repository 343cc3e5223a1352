/**
 * The TRON family for the end-to-end suites: a simulated java-tron.
 */
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import type { FlowBench, PaymentNetwork } from '../conformance/flow.ts';
import { openPayoutShop } from '../support/payout-shop.ts';
import { startSimulatedNode, TRON_CHAIN_ID, tronTokenKeys, tronTokens } from '../support/simulated-node.ts';
import { simulatedNetwork } from './simulated-network.ts';

const tokens = [tronTokens[0]];
const BLOCK_MS = 250;
/** Short beside the time that payers have: a test that lets it pass moves the chain's clock ahead of ours. */
const EXPIRY_S = 20;
const SUN_PER_TRX = 1_000_000n;
const FINALITY = 3;
/** Blocks, its own included, with which a payment is final. */
const REQUIRED = FINALITY + 1;

/** A java-tron that makes four blocks a second, and charges for energy and bandwidth. */
export async function openTronPayouts() {
  let aheadMs = 0;
  const clock = { nowMs: () => systemClock.nowMs() + aheadMs };
  const node = await startSimulatedNode({ family: 'tron', seed: 'payouts', finalityDistance: FINALITY, clock });
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
      confirmations: { finality: 'finalized', usual: REQUIRED, blocks: null, tiers: null },
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
  const network = simulatedNetwork({
    name: 'tron',
    node,
    tokens,
    tokenKeys: tronTokenKeys,
    required: REQUIRED,
    confirmingBlocks: REQUIRED,
    async mineAlmost() {
      for (let left = FINALITY - 1; left > 0; left--) world.mine(1);
      return { confirmations: FINALITY, blocks: FINALITY };
    },
  });
  const payments: FlowBench<PaymentNetwork> = {
    ...shop,
    networks: [network],
    checkOptions(session) {
      for (const option of session.payment_options) {
        assert.match(option.address, /^T[1-9A-HJ-NP-Za-km-z]{33}$/);
        assert.is(option.qr_code_data, option.address);
        assert.match(decodeURIComponent(option.deep_link), `${shop.quayside.server().base_url}/pay/${session.id}`);
      }
    },
  };
  return { shop, node, pass, payments };
}
