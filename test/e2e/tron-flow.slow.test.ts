/**
 * The long flow suite on TRON, and what only java-tron does.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { centsOf, flowConforms } from '../conformance/flow.ts';
import type { Json } from '../support/instance.ts';
import { accountKey } from '../support/sandbox-node.ts';
import { startTronNode, tronTokenKeys } from '../support/tron-node.ts';
import { until } from '../support/until.ts';
import { openTronFlow, payBy } from './tron.ts';

const { bench, nodes } = await openTronFlow();
const { quayside, shop, networks } = bench;
const [direct] = networks;
test.after.each(() => nodes.tron.faults.heal());
test.after(() => bench.close());

const cents = (amount: number): bigint => (direct ? centsOf(direct, 'USDT', amount) : 0n);
const status = () => shop.statusOf('test:tron');

for (const network of networks) {
  const { name, mine, confirm } = network;
  test(`${name}: a withdrawal from an exchange and a payment by another account count, whatever the transaction calls`, async () => {
    const node = nodes[name as keyof typeof nodes];
    const [withdrawn, delegated] = [await shop.newSession(310), await shop.newSession(320)];
    const txs = [
      payBy(node, name, 'contract', withdrawn, cents(310)),
      payBy(node, name, 'delegated', delegated, cents(320)),
    ];
    await mine();
    const number = String(node.world.tip().number);
    const block = JSON.parse(await node.ask('/wallet/getblock', { id_or_num: number, detail: true }));
    const calls = txs.map((tx) => {
      const { raw_data } = block.transactions.find(({ txID }: Json) => txID === tx);
      return raw_data.contract[0].parameter.value;
    });
    // In neither does the payer call the token's transfer; only the logs show it.
    assert.is.not(calls[0].contract_address, `41${tronTokenKeys[0]}`);
    assert.match(calls[1].data, /^23b872dd/);
    assert.is.not(calls[1].owner_address, `41${accountKey('payer')}`);
    await confirm();
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

test('late transaction infos are waited for, and never taken for an empty block', async () => {
  const session = await shop.newSession(700);
  nodes.tron.faults.set({ rates: { empty_content: 1 } });
  await direct?.pay(session, 'USDT', cents(700));
  await direct?.confirm();
  await until('status names it', async () => (await status()).reason?.code === 'node_infos_missing');
  assert.is((await shop.show(session)).payments.length, 0);
  nodes.tron.faults.heal();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 700);
});

test('a node that is behind is not a reorg: nothing is orphaned, and following continues once it has caught up', async () => {
  const session = await shop.newSession(800);
  await direct?.pay(session, 'USDT', cents(800));
  await direct?.mine(2);
  await shop.waitForSeen(session);
  nodes.tron.faults.set({ rates: { lag: 1 }, lagBlocks: 5 });
  await until('status names it', async () => (await status()).reason?.code === 'node_behind');
  assert.is((await shop.show(session)).payments[0].status, 'seen');
  await direct?.mine(2);
  nodes.tron.faults.heal();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 800);
});

test('a node of another chain at the same URL halts the network until a restart, and no other', async () => {
  await nodes.tron.stop();
  await until('the outage shows', async () => (await status()).reason?.code === 'node_unreachable');
  const port = Number(new URL(nodes.tron.url).port);
  const stranger = await startTronNode({ seed: 'other', chainId: '842000777', port });
  assert.is(stranger.url, nodes.tron.url);
  await until('it is halted', async () => (await status()).state === 'halted');
  const { reason } = await status();
  assert.is(reason.code, 'chain_id_mismatch');
  assert.match(reason.message, /expected a node of chain 842000991, found chain 842000777/);
  assert.is((await shop.statusOf('test:tron-bridged')).state, 'following');
  await stranger.close();
  await nodes.tron.start();
  await quayside.stop();
  await quayside.start();
  await until('it is followed again', async () => (await status()).state === 'following');
});

flowConforms(bench);
