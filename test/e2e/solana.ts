/**
 * The Solana family for the end-to-end suites: a simulated node with skipped slots, and addresses from an offline list.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { makeAddressList } from '../../src/addresses/address-list.ts';
import { solanaOfflineKeys } from '../../src/chains/solana/offline-keys.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import type { FlowBench, PaymentNetwork } from '../conformance/flow.ts';
import { openFlowInstallation } from '../support/flow-shop.ts';
import type { Instance, Json } from '../support/instance.ts';
import { openPayoutShop, PHRASE as PAYOUT_PHRASE } from '../support/payout-shop.ts';

import { SOLANA_CHAIN_ID, solanaTokenKeys, solanaTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { simulatedNetwork } from './simulated-network.ts';

/** A block is final when the tip is this many slots above it. */
const FINALITY = 12;
/** The most slots from one block to the next: at most two empty slots come in a row. */
const SLOTS_PER_BLOCK_MAX = 3;
const PHRASE = `${'abandon '.repeat(11)}about`;

/** Imports a list of addresses, as the offline machine derives it. @returns the command's output */
export async function importAddresses(quayside: Instance, count: number, phrase = PHRASE): Promise<Json> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-addresses-'));
  const file = join(folder, 'list.json');
  try {
    const list = await makeAddressList({ family: 'solana', mode: 'test' }, seedOf(phrase), 0, count);
    writeFileSync(file, JSON.stringify(list));
    return await quayside.cli('address-pool', 'import', file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param addresses of the list that is imported; with 0 that is left to the test */
export async function openSolanaFlow(addresses: number) {
  // Every third slot has no block, and some have two empty ones before them.
  const node = await startSimulatedNode({
    family: 'solana',
    seed: 'flow',
    finalityDistance: FINALITY,
    isSkipped: (slot) => slot > 0 && (slot % 3 === 0 || slot % 10 === 1),
  });
  const { world } = node;
  const network = simulatedNetwork({
    name: 'solana',
    node,
    tokens: solanaTokens,
    tokenKeys: solanaTokenKeys,
    required: FINALITY + 1,
    confirmingBlocks: FINALITY + 2,
    async mineAlmost() {
      const { number: slot } = world.tip();
      let blocks = 1;
      for (; world.tip().number + SLOTS_PER_BLOCK_MAX < slot + FINALITY; blocks++) world.mine(2);
      return { confirmations: world.tip().number - slot + 1, blocks };
    },
  });
  await network.mine(3);
  const solana = {
    mode: 'test',
    url: node.url,
    rpc_url: node.httpUrl,
    chain_id: SOLANA_CHAIN_ID,
    confirmations: { finality: 'finalized', usual: FINALITY + 1, blocks: null, tiers: null },
    reorg_depth_max: 60,
    block_time_ms: 400,
    poll_ms: 1000,
    tokens: solanaTokens,
  };
  // One block at a time; a step must still get over several empty slots.
  const installation = await openFlowInstallation({ networks: { solana }, limits: { blocks_per_ingest_max: 1 } });
  if (addresses > 0) await importAddresses(installation.quayside, addresses);
  const bench: FlowBench<PaymentNetwork> = {
    ...installation,
    networks: [network],
    checkOptions({ payment_options: options }) {
      for (const { deep_link: link, address, currency } of options) {
        const { address: mint } = solanaTokens.find(({ symbol }) => symbol === currency) ?? {};
        assert.is(link, `solana:${address}?amount=10.5&spl-token=${mint}`);
      }
    },
    async close() {
      await installation.close();
      await node.close();
    },
  };
  return { bench, network, node };
}

const LAMPORTS_PER_SOL = 1_000_000_000n;
const BLOCK_MS = 200;

/** A node that makes five blocks a second, and checks signatures, balances and fees. */
export async function openSolanaPayouts() {
  const node = await startSimulatedNode({ family: 'solana', seed: 'payouts', finalityDistance: 5 });
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
      confirmations: { finality: 'finalized', usual: 6, blocks: null, tiers: null },
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
  await importAddresses(shop.quayside, 60, PAYOUT_PHRASE);
  node.mineEvery(BLOCK_MS);
  return { shop, node };
}
