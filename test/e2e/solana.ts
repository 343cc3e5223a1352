/**
 * The Solana family for the end-to-end suites: a simulated node with skipped slots, and addresses from an offline list.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { makeAddressList } from '../../src/addresses/address-list.ts';
import { solanaOfflineKeys } from '../../src/chains/solana/offline-keys.ts';
import { isSkippedSlot } from '../../src/sandbox/solana-render.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import type { FlowBench, PaymentNetwork } from '../conformance/flow.ts';
import type { Instance, Json } from '../support/instance.ts';
import { openPayoutShop, PHRASE } from '../support/payout-shop.ts';
import { SOLANA_CHAIN_ID, solanaTokenKeys, solanaTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { simulatedNetwork } from './simulated-network.ts';

/** A block is final when the tip is this many slots above it. */
const FINALITY = 5;

/** Imports a list of addresses, as the offline machine derives it. @returns the command's output */
async function importAddresses(quayside: Instance, count: number): Promise<Json> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-addresses-'));
  const file = join(folder, 'list.json');
  try {
    const list = await makeAddressList({ family: 'solana', mode: 'test' }, seedOf(PHRASE), 0, count);
    writeFileSync(file, JSON.stringify(list));
    return await quayside.cli('address-pool', 'import', file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the slot of the block after one. */
function slotAfter(slot: number): number {
  let next = slot + 1;
  while (isSkippedSlot(SOLANA_CHAIN_ID, next)) next++;
  return next;
}

const LAMPORTS_PER_SOL = 1_000_000_000n;
const BLOCK_MS = 200;

/** A node that makes five blocks a second, and checks signatures, balances and fees. */
export async function openSolanaPayouts() {
  const node = await startSimulatedNode({ family: 'solana', seed: 'payouts', finalityDistance: FINALITY });
  const { world } = node;
  for (let left = 3; left > 0; left--) world.mine();
  const [usdt] = solanaTokens;
  const [tokenKey] = solanaTokenKeys;
  const treasury = solanaOfflineKeys.derive(new Uint8Array(64).fill(9), 0, 1)[0] ?? '';
  // The treasury has held the token before.
  node.pay(treasury, 100n);
  world.mine();
  const shop = await openPayoutShop({
    family: 'solana',
    name: 'solana',
    tokens: [usdt],
    settings: {
      url: node.url,
      rpc_url: node.httpUrl,
      chain_id: SOLANA_CHAIN_ID,
      confirmations: { finality: 'finalized', usual: FINALITY + 1, blocks: null, tiers: null },
      reorg_depth_max: 60,
      block_time_ms: BLOCK_MS,
      poll_ms: 1000,
      // A blockhash is valid for 150 blocks, which take 30 s here.
      payout_expiry_s: 35,
      sweep: { min: '1.00', native_price: '100' },
    },
    policy: { chain_id: SOLANA_CHAIN_ID, fee_max: '0.01', gas_caps: { transaction: '0', day: '0' } },
    treasury,
    pay: async (key, _, units) => node.pay(key, units),
    fund: async (key, coins) => world.fund(key, BigInt(coins) * LAMPORTS_PER_SOL),
    held: async (key) => world.accounts().token(tokenKey, key),
    paid: async (from, to) =>
      world
        .transfers()
        .filter((transfer) => transfer.from === from && transfer.to === to)
        .map(({ units }) => units),
    async hasSucceeded(tx) {
      const { result } = await node.ask('getSignatureStatuses', [[tx]]);
      const [status] = (result as { value: readonly ({ err: unknown } | null)[] }).value;
      return status?.err === null;
    },
    async reorg() {
      world.reorg({ depth: 1, keep: 'none', blocks: 2 });
    },
    faults: node.faults,
    close: node.close,
  });
  await importAddresses(shop.quayside, 60);
  node.mineEvery(BLOCK_MS);
  const network = simulatedNetwork({
    name: 'solana',
    node,
    tokens: [usdt],
    tokenKeys: solanaTokenKeys,
    required: FINALITY + 1,
    confirmingBlocks: FINALITY + 2,
    async mineAlmost() {
      const { number: slot } = world.tip();
      let blocks = 1;
      for (; slotAfter(world.tip().number) < slot + FINALITY; blocks++) world.mine(2);
      return { confirmations: world.tip().number - slot + 1, blocks };
    },
  });
  const payments: FlowBench<PaymentNetwork> = {
    ...shop,
    networks: [network],
    checkOptions({ payment_options: [{ deep_link: link, address }] }) {
      assert.is(link, `solana:${address}?amount=10.5&spl-token=${usdt.address}`);
    },
  };
  return { shop, node, payments };
}
