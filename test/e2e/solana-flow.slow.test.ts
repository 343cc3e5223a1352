/**
 * The long flow suite on Solana, its pool of imported addresses, and what only its nodes do.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { centsOf, flowConforms } from '../conformance/flow.ts';
import type { Json } from '../support/instance.ts';
import { until } from '../support/until.ts';
import { importAddresses, openSolanaFlow } from './solana.ts';

const ADDRESSES = 25;

const { bench, network, node } = await openSolanaFlow(0);
const { quayside, shop } = bench;
test.after.each(() => node.faults.heal());
test.after(() => bench.close());

const status = () => shop.statusOf('test:solana');
const pay = (session: Json, cents: number) => network.pay(session, 'USDT', centsOf(network, 'USDT', cents));

test('without addresses there are no sessions; a list from the offline machine adds them', async () => {
  await until('the network is followed', async () => (await status()).state === 'following');
  const request = { amount: 100, currency: 'USD', order_id: 'early' };
  const refused = await quayside.api('POST', '/api/v1/checkout/sessions/create', request);
  assert.equal([refused.status, refused.body.error.code], [503, 'address_pool_empty']);
  const { added, signer } = await importAddresses(quayside, ADDRESSES);
  assert.is(added, ADDRESSES);
  assert.ok(solanaAddress.parse(signer));
  assert.match(quayside.output(), /address_pool_empty/, 'the log has the empty pool');
  const { payment_options: options } = await shop.newSession(100);
  const own = 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk';
  assert.is(options[0].address, own, 'the owner’s address, account 0 of the seed');
});

test('a node that falls behind, denies blocks and goes down loses nothing', async () => {
  const session = await shop.newSession(1300);
  const head = await network.head();
  await until('everything is read', async () => (await status()).cursor === head);
  node.faults.set({ rates: { lag: 1 }, lagBlocks: 5 });
  await pay(session, 1300);
  await network.mine();
  await until('the lag shows', async () => (await status()).reason?.code === 'node_behind');
  assert.is((await shop.show(session)).payments.length, 0);
  node.faults.heal();
  await shop.waitForSeen(session);
  // "Skipped, or missing" for blocks that exist: the follower must not skip them.
  node.faults.set({ rates: { unknown_block: 1 } });
  await network.mine(2);
  await until('the denial shows', async () => (await status()).reason?.code === 'node_block_missing');
  node.faults.heal();
  await node.stop();
  await until('the outage shows', async () => (await status()).reason?.code === 'node_unreachable');
  await node.start();
  await network.confirm();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 1300);
});

test('an alarm is raised when 20 % of the addresses are left', async () => {
  const { pools } = await quayside.cli('status');
  for (let left = pools[0].free; left > ADDRESSES / 5; left--) await shop.newSession(100);
  await until('the alarm is raised', async () =>
    (await quayside.cli('status')).alarms.some(({ code }: Json) => code === 'address_pool_low'),
  );
  const { pools: after, server } = await quayside.cli('status');
  assert.equal([after[0].low, after[0].free], [true, ADDRESSES / 5]);
  const metrics = await (await fetch(`${server.metrics_url}/metrics`)).text();
  assert.match(metrics, /^quayside_pool_low\{family="solana",mode="test"\} 1$/m);
  await importAddresses(quayside, 2 * ADDRESSES);
});

flowConforms(bench);
