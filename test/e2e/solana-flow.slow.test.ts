/**
 * The main job on Solana: addresses from an offline list, a signed call makes a session, a token balance pays it, the merchant gets a signed
 * webhook. The node is the simulated one, skipped slots and all; everything of Quayside runs as it does for an operator.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { SOLANA_CHAIN_ID, type SolanaNode, solanaTokens, startSolanaNode } from '../support/solana-node.ts';
import { until } from '../support/until.ts';

/** A block is final when the tip is so many slots above it. */
const FINALITY = 12;
/** From one block to the next: no two empty slots in a row have a third one beside them. */
const SLOTS_PER_BLOCK_MAX = 3;
const ADDRESSES = 10;
const CENT = 10_000n;

let node: SolanaNode;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;
const folder = mkdtempSync(join(tmpdir(), 'quayside-solana-'));

test.before(async () => {
  // Every third slot has no block, and some have two empty ones before them.
  node = await startSolanaNode({
    seed: 'flow',
    finalityDistance: FINALITY,
    isSkipped: (slot) => slot > 0 && (slot % 3 === 0 || slot % 10 === 1),
  });
  mine(3);
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const solana = {
    mode: 'test',
    url: node.url,
    rpc_url: node.rpcUrl,
    chain_id: SOLANA_CHAIN_ID,
    confirmations: { kind: 'finalized', usual: FINALITY + 1 },
    reorg_depth_max: 60,
    block_time_ms: 400,
    poll_ms: 100,
    tokens: solanaTokens,
  };
  // One block at a time: a step must get over a run of empty slots all the same.
  quayside = await startInstance(
    { networks: { solana }, limits: { blocks_per_ingest_max: 1 } },
    `${merchant.origin}/hook`,
  );
  shop = openFlowShop(quayside, merchant);
});

test.after.each(() => node.faults.heal());

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await node?.close();
  rmSync(folder, { recursive: true, force: true });
});

function mine(blocks = 1): void {
  for (let left = blocks; left > 0; left--) node.world.mine(2);
}

const pay = (session: Json, cents: number): string =>
  node.pay(solanaAddress.parse(session.payment_options[0].address) ?? '', BigInt(cents) * CENT);
const solanaState = async (): Promise<Json> => (await quayside.cli('status')).networks[0];

test('without addresses there are no sessions; a list from the seed’s machine brings them', async () => {
  await until('the network is followed', async () => (await solanaState()).state === 'following');
  const refused = await quayside.api('POST', '/api/v1/checkout/sessions/create', {
    amount: 100,
    currency: 'USD',
    order_id: 'early',
  });
  assert.equal([refused.status, refused.body.error.code], [503, 'address_pool_empty']);
  const phrase = join(folder, 'phrase');
  const list = join(folder, 'list.json');
  writeFileSync(phrase, `${'abandon '.repeat(11)}about\n`);
  await quayside.cli(
    'address-pool',
    'derive',
    '--network',
    'solana-devnet',
    '--count',
    String(ADDRESSES),
    '--out',
    list,
    '--seed-file',
    phrase,
  );
  const { added, signer } = await quayside.cli('address-pool', 'import', list);
  assert.is(added, ADDRESSES);
  assert.ok(solanaAddress.parse(signer));
  assert.match(quayside.output(), /address_pool_empty/, 'the log told of the empty pool');
});

test('from the signed call to the signed webhook, once the chain calls it final', async () => {
  const session = await shop.newSession(1050);
  const [option] = session.payment_options;
  assert.is(
    option.address,
    'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk',
    'the owner’s address, account 0 of the seed',
  );
  assert.is(option.deep_link, `solana:${option.address}?amount=10.5&spl-token=${solanaTokens[0].address}`);
  const tx = pay(session, 1050);
  mine();
  const { number: slot } = node.world.tip();
  while (node.world.tip().number + SLOTS_PER_BLOCK_MAX < slot + FINALITY) mine();
  const confirmations = node.world.tip().number - slot + 1;
  await shop.waitFor('counts slots', session, (now) => now.payments[0]?.confirmations === confirmations);
  const seen = await shop.show(session);
  assert.equal([seen.payment_status, seen.payments[0].status], ['pending', 'seen']);
  assert.is(seen.payments[0].transaction_hash, tx);
  mine(SLOTS_PER_BLOCK_MAX);
  await shop.waitForStatus(session, 'paid');
  const { amount, currency } = await shop.completed(session);
  assert.equal({ amount, currency }, { amount: 1050, currency: 'USDT' });
});

test('a part and its top-up pay together; a failed payment and a look-alike token do not', async () => {
  const session = await shop.newSession(2000);
  const key = solanaAddress.parse(session.payment_options[0].address) ?? '';
  node.pay(key, 2000n * CENT, 'failed');
  node.pay(key, 2000n * CENT, 'lookalike');
  pay(session, 1250);
  mine(FINALITY + 2);
  await shop.waitFor('is underpaid', session, (now) => now.underpaid && now.payments[0]?.status === 'confirmed');
  pay(session, 750);
  mine(FINALITY + 2);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.show(session)).payments.length, 2);
  assert.is((await shop.completed(session)).amount, 2000);
});

test('a reorg before finality takes the money away; sent again it is credited once', async () => {
  const session = await shop.newSession(900);
  pay(session, 900);
  mine(2);
  await shop.waitFor('shows the payment', session, (now) => now.payments.length === 1);
  node.world.reorg({ depth: 2, keep: 'none', blocks: 4 });
  await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
  pay(session, 900);
  mine(FINALITY + 2);
  await shop.waitForStatus(session, 'paid');
  const paid = await shop.show(session);
  assert.not(paid.overpaid);
  assert.equal(paid.payments.map(({ status }: Json) => status).sort(), ['confirmed', 'orphaned']);
  assert.is((await shop.completed(session)).amount, 900);
});

test('a node that falls behind, denies blocks and goes away loses nothing', async () => {
  const session = await shop.newSession(1300);
  await until('everything is read', async () => (await solanaState()).cursor === node.world.tip().number);
  node.faults.set({ rates: { lag: 1 }, lagBlocks: 5 });
  pay(session, 1300);
  mine();
  await until('the lag shows', async () => (await solanaState()).reason?.code === 'node_behind');
  assert.is((await shop.show(session)).payments.length, 0);
  node.faults.heal();
  await shop.waitFor('shows the payment', session, (now) => now.payments.length === 1);
  // "Skipped, or missing" for blocks that are there: nobody gets past them.
  node.faults.set({ rates: { unknown_block: 1 } });
  mine(2);
  await until('the denial shows', async () => (await solanaState()).reason?.code === 'node_block_missing');
  node.faults.heal();
  await node.stop();
  await until('the outage shows', async () => (await solanaState()).reason?.code === 'node_unreachable');
  await node.start();
  mine(FINALITY + 2);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 1300);
});

test('an indexer that is killed goes on where it was', async () => {
  const session = await shop.newSession(700);
  pay(session, 700);
  mine();
  await shop.waitFor('shows the payment', session, (now) => now.payments.length === 1);
  const { pid } = await solanaState();
  process.kill(pid, 'SIGKILL');
  mine(FINALITY + 2);
  await until('another one runs', async () => {
    const now = await solanaState();
    return now.pid !== pid && now.state === 'following';
  });
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 700);
});

test('the operator hears when a fifth of the addresses is left', async () => {
  const { pools } = await quayside.cli('status');
  for (let left = pools[0].free; left > ADDRESSES / 5; left--) await shop.newSession(100);
  await until('the alarm is raised', async () =>
    (await quayside.cli('status')).alarms.some(({ code }: Json) => code === 'address_pool_low'),
  );
  const status = await quayside.cli('status');
  assert.equal([status.pools[0].low, status.pools[0].free], [true, ADDRESSES / 5]);
  const metrics = await (await fetch(`${status.server.metrics_url}/metrics`)).text();
  assert.match(metrics, /^quayside_pool_low\{family="solana",mode="test"\} 1$/m);
  assert.is(await quayside.stop(), 0);
});

test.run();
