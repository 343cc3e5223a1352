/**
 * The main job on TRON: a signed call makes a session, a transfer pays it, the merchant gets a signed webhook. One java-tron is read
 * directly by HTTP, another through the bridge beside it; everything of Quayside runs as it does for an operator.
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronAddress } from '../../src/chains/tron/address.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { accountKey } from '../support/sandbox-node.ts';
import { startTronBridge, type TronBridge } from '../support/tron-bridge.ts';
import { startTronNode, type TronNode, tronTokenKeys, tronTokens } from '../support/tron-node.ts';
import { until } from '../support/until.ts';

const DEPTH = 4;
/** m/44'/195'/0'/0 of a seed of 32 bytes 0x07. */
const XPUB =
  'xpub6FNxDEG5ck4z9cPspQ6Kgwo3gnQee2JmunzB5FhWM3wrk5qZSgdHWMQT8FC91cMNdhbQAaYwsxMsPH7smR4uoP9KebCyQLpMVCYvHNwTcQL';
const CENT = 10_000n;

type NetworkName = 'tron' | 'tron-bridged';
const names: readonly NetworkName[] = ['tron', 'tron-bridged'];

let nodes: Record<NetworkName, TronNode>;
let bridge: TronBridge;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;

test.before(async () => {
  nodes = {
    tron: await startTronNode({ seed: 'flow', chainId: '842000991' }),
    'tron-bridged': await startTronNode({ seed: 'flow bridged', chainId: '842000992' }),
  };
  for (const node of Object.values(nodes)) for (let left = 3; left > 0; left--) node.world.mine(5);
  bridge = await startTronBridge(nodes['tron-bridged'].url);
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const network = (url: string, chainId: string) => ({
    family: 'tron',
    mode: 'test',
    url,
    xpub: XPUB,
    chain_id: chainId,
    confirmations: { kind: 'depth', blocks: DEPTH },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens: [tronTokens[0]],
  });
  quayside = await startInstance(
    {
      networks: { tron: network(nodes.tron.url, '842000991'), 'tron-bridged': network(bridge.url, '842000992') },
      limits: { pool_target: 100 },
    },
    `${merchant.origin}/hook`,
  );
  shop = openFlowShop(quayside, merchant);
});

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await bridge?.stop();
  for (const node of Object.values(nodes ?? {})) await node.close();
});

const keyOf = (session: Json): string => tronAddress.parse(session.payment_options[0].address) ?? '';
const cents = (amount: number): bigint => BigInt(amount) * CENT;
const mine = (name: NetworkName, blocks = 1): void => {
  for (let left = blocks; left > 0; left--) nodes[name].world.mine(1);
};
const usdt = (to: string, units: bigint) => ({ token: tronTokenKeys[0], to, units });
const payMany = (name: NetworkName, kind: PaymentKind, outputs: readonly ReturnType<typeof usdt>[]): string =>
  nodes[name].world.pay({ kind, from: accountKey('payer'), outputs });

for (const name of names) {
  test(`${name}: from the signed call to the signed webhook`, async () => {
    const session = await shop.newSession(1050);
    const option = session.payment_options.find((one: Json) => one.network === name);
    assert.equal(
      session.payment_options.map((one: Json) => [one.network, one.currency, one.amount, one.confirmations_required]),
      names.map((one) => [one, 'USDT', '10.50', DEPTH]),
    );
    assert.match(option.address, /^T[1-9A-HJ-NP-Za-km-z]{33}$/);
    assert.is(option.qr_code_data, option.address);
    assert.match(decodeURIComponent(option.deep_link), `${quayside.baseUrl}/pay/${session.id}`);

    const tx = nodes[name].pay(keyOf(session), cents(1050));
    mine(name);
    await shop.waitForSeen(session);
    const seen = await shop.show(session);
    assert.is(seen.payment_status, 'pending');
    assert.equal(seen.payments, [
      { network: name, currency: 'USDT', amount: '10.50', transaction_hash: tx, confirmations: 1, status: 'seen' },
    ]);
    mine(name, DEPTH - 2);
    await shop.waitFor('counts', session, (now) => now.payments[0].confirmations === DEPTH - 1);
    assert.is((await shop.show(session)).payment_status, 'pending', 'one block short of the depth');
    mine(name);
    await shop.waitForStatus(session, 'paid');
    const { amount, currency, status } = await shop.completed(session);
    assert.equal({ amount, currency, status }, { amount: 1050, currency: 'USDT', status: 'completed' });
  });

  test(`${name}: a part is told of, and topped up`, async () => {
    const session = await shop.newSession(2000);
    nodes[name].pay(keyOf(session), cents(1250));
    mine(name, DEPTH);
    await shop.waitFor('is underpaid', session, (now) => now.underpaid && now.payments[0].status === 'confirmed');
    await until('the part is announced', () => shop.events(session, 'payment.partially_paid').length === 1);
    nodes[name].pay(keyOf(session), cents(750));
    mine(name, DEPTH);
    await shop.waitForStatus(session, 'paid');
    assert.is((await shop.completed(session)).amount, 2000);
  });

  test(`${name}: a reorg takes the money away before it is confirmed, and brings it back in another block`, async () => {
    const session = await shop.newSession(900);
    const { world } = nodes[name];
    nodes[name].pay(keyOf(session), cents(900));
    mine(name, DEPTH - 1);
    await shop.waitFor('is nearly confirmed', session, (now) => now.payments[0]?.confirmations === DEPTH - 1);
    world.reorg({ depth: DEPTH - 1, keep: 'none', blocks: DEPTH });
    await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
    mine(name, DEPTH);
    assert.is((await shop.show(session)).payment_status, 'pending');
    assert.is(shop.events(session, 'payment.completed').length, 0);
    nodes[name].pay(keyOf(session), cents(900));
    mine(name, 2);
    await shop.waitForSeen(session, 2);
    world.reorg({ depth: 2, keep: 'all', blocks: 3 });
    mine(name, DEPTH);
    await shop.waitForStatus(session, 'paid');
    const paid = await shop.show(session);
    assert.not(paid.overpaid);
    assert.is(paid.payments.filter((one: Json) => one.status === 'confirmed').length, 1);
    assert.is((await shop.completed(session)).amount, 900);
  });

  test(`${name}: a node that is restarted in the middle of a payment loses nothing`, async () => {
    const session = await shop.newSession(1300);
    nodes[name].pay(keyOf(session), cents(1300));
    mine(name);
    await shop.waitForSeen(session);
    await nodes[name].stop();
    await until('the outage shows in status', async () => (await shop.statusOf(`test:${name}`)).state === 'fault');
    const fault = await shop.statusOf(`test:${name}`);
    assert.is(fault.reason.code, 'node_unreachable');
    const other = names.find((one) => one !== name) ?? name;
    assert.is((await shop.statusOf(`test:${other}`)).state, 'following', 'the other network goes on');
    await nodes[name].start();
    mine(name, DEPTH);
    await shop.waitForStatus(session, 'paid');
    assert.is((await shop.completed(session)).amount, 1300);
  });
}

test('contracts pay: routed, and twice to one session in one transaction', async () => {
  const [routed, twice] = [await shop.newSession(300), await shop.newSession(500)];
  payMany('tron', 'contract', [usdt(keyOf(routed), cents(300))]);
  const tx = payMany('tron', 'contract', [
    usdt(keyOf(twice), cents(200)),
    usdt(accountKey('stranger'), cents(400)),
    usdt(keyOf(twice), cents(300)),
  ]);
  mine('tron', DEPTH);
  for (const session of [routed, twice]) await shop.waitForStatus(session, 'paid');
  assert.equal(
    (await shop.show(twice)).payments.map((one: Json) => [one.amount, one.transaction_hash]),
    [
      ['2.00', tx],
      ['3.00', tx],
    ],
  );
  assert.is((await shop.completed(twice)).amount, 500);
});

for (const name of names) {
  test(`${name}: who withdraws from an exchange or lets another account pay has paid, whatever the transaction calls`, async () => {
    const [withdrawn, delegated] = [await shop.newSession(310), await shop.newSession(320)];
    const txs = [
      payMany(name, 'contract', [usdt(keyOf(withdrawn), cents(310))]),
      payMany(name, 'delegated', [usdt(keyOf(delegated), cents(320))]),
    ];
    mine(name);
    const number = String(nodes[name].world.tip().number);
    const block = JSON.parse(await nodes[name].ask('/wallet/getblock', { id_or_num: number, detail: true }));
    const calls = txs.map((tx) => {
      const { raw_data } = block.transactions.find(({ txID }: Json) => txID === tx);
      return raw_data.contract[0].parameter.value;
    });
    // Neither is a call of the token's transfer by the payer; only the logs tell.
    assert.is.not(calls[0].contract_address, `41${tronTokenKeys[0]}`);
    assert.match(calls[1].data, /^23b872dd/);
    assert.is.not(calls[1].owner_address, `41${accountKey('payer')}`);
    mine(name, DEPTH - 1);
    for (const [at, session] of [withdrawn, delegated].entries()) {
      await shop.waitForStatus(session, 'paid');
      const { payments } = await shop.show(session);
      assert.equal(
        payments.map((one: Json) => one.transaction_hash),
        [txs[at]],
      );
    }
    assert.is((await shop.completed(withdrawn)).amount, 310);
    assert.is((await shop.completed(delegated)).amount, 320);
  });
}

test('failed transfers whose logs java-tron keeps, reverted ones, look-alikes and zero are no money', async () => {
  const session = await shop.newSession(600);
  const to = keyOf(session);
  const { world } = nodes.tron;
  const failed = Array.from({ length: 8 }, (_, at) => payMany('tron', 'failed', [usdt(to, cents(600) + BigInt(at))]));
  payMany('tron', 'lookalike', [usdt(to, cents(600))]);
  payMany('tron', 'direct', [usdt(to, 0n)]);
  payMany('tron', 'contract', [usdt(to, 0n)]);
  const { number } = world.mine();
  const infos = JSON.parse(await nodes.tron.ask('/wallet/gettransactioninfobyblocknum', { num: number }));
  const kept = infos.filter((info: Json) => info.result === 'FAILED' && info.log);
  assert.ok(kept.length > 0 && kept.length < failed.length, 'both kinds of failure stand in the block');
  mine('tron', DEPTH);
  // The real payment goes through the same reader: once it is in, everything before it was read.
  nodes.tron.pay(to, cents(600));
  mine('tron', DEPTH);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.show(session)).payments.length, 1);
  assert.is((await shop.completed(session)).amount, 600);
});

test('infos that come late are waited for, never taken for an empty block', async () => {
  const session = await shop.newSession(700);
  nodes.tron.faults.set({ rates: { empty_content: 1 } });
  nodes.tron.pay(keyOf(session), cents(700));
  mine('tron', DEPTH);
  await until('status names it', async () => (await shop.statusOf('test:tron')).reason?.code === 'node_infos_missing');
  assert.is((await shop.show(session)).payments.length, 0);
  nodes.tron.faults.heal();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 700);
});

test('a node that is behind is no reorg: nothing is taken back, and it goes on when the node has caught up', async () => {
  const session = await shop.newSession(800);
  nodes.tron.pay(keyOf(session), cents(800));
  mine('tron', 2);
  await shop.waitForSeen(session);
  nodes.tron.faults.set({ rates: { lag: 1 }, lagBlocks: 5 });
  await until('status names it', async () => (await shop.statusOf('test:tron')).state === 'behind');
  assert.is((await shop.statusOf('test:tron')).reason.code, 'node_behind');
  assert.is((await shop.show(session)).payments[0].status, 'seen');
  mine('tron', 2);
  nodes.tron.faults.heal();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 800);
});

test('an indexer that is killed in the middle is started again and credits once', async () => {
  const session = await shop.newSession(1500);
  nodes.tron.pay(keyOf(session), cents(1500));
  mine('tron');
  const before = await shop.statusOf('test:tron');
  process.kill(before.pid, 'SIGKILL');
  mine('tron', DEPTH - 2);
  await until('another one has taken over', async () => {
    const { pid, state } = await shop.statusOf('test:tron');
    return pid !== before.pid && state === 'following';
  });
  await shop.waitForSeen(session);
  mine('tron');
  await shop.waitForStatus(session, 'paid');
  assert.not((await shop.show(session)).overpaid);
  assert.is((await shop.completed(session)).amount, 1500);
});

test('a node of another chain behind the same address stops the network, and no other', async () => {
  await nodes.tron.stop();
  await until('the outage shows', async () => (await shop.statusOf('test:tron')).state === 'fault');
  const stranger = await startTronNode({
    seed: 'other',
    chainId: '842000777',
    port: Number(new URL(nodes.tron.url).port),
  });
  assert.is(stranger.url, nodes.tron.url);
  await until('it is halted', async () => (await shop.statusOf('test:tron')).state === 'halted');
  const { reason } = await shop.statusOf('test:tron');
  assert.is(reason.code, 'chain_id_mismatch');
  assert.match(reason.message, /expected a node of chain 842000991, found chain 842000777/);
  assert.is((await shop.statusOf('test:tron-bridged')).state, 'following');
  await stranger.close();
  await nodes.tron.start();
});

test('stopping is clean', async () => {
  assert.is(await quayside.stop(), 0);
});

test.run();
