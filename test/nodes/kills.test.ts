/**
 * Quayside and geth are killed with SIGKILL while a payment is under way. A killed geth comes back on an earlier head,
 * with an empty pool, until its peers have given it the blocks again.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';

const DEPTH = 4;

const geth = await startDrivenGeth({ chainId: 1, isForgetful: true });
const bench = await openNodeShop({ node: geth });
const { quayside, shop, pay, expectPaid } = bench;
test.after(() => bench.close());

test('geth is killed, comes back without its newest blocks, and gets them again: a seen payment is credited once', async () => {
  // What was mined so far is what geth comes back with.
  await geth.stop();
  await geth.start();
  const session = await shop.newSession(1_000);
  await pay(session, 1_000);
  await geth.mine(2);
  await shop.waitForSeen(session);
  const { number } = await geth.head();
  await geth.kill();
  await bench.untilState('fault', 'node_unreachable');
  await geth.start();
  assert.ok((await geth.head()).number < number);
  await bench.untilState('behind', 'node_behind');
  assert.is((await shop.show(session)).payments[0].status, 'seen', 'a node that is behind proves nothing');
  await geth.replay();
  await geth.mine(DEPTH);
  await expectPaid(session, ['10.00']);
  assert.is(await bench.expectBooks(), 1);
});

test('geth is killed with a payment in its pool alone: it is lost there, and paid again it is credited', async () => {
  await geth.stop();
  await geth.start();
  const session = await shop.newSession(1_100);
  const lost = await pay(session, 1_100);
  await geth.kill();
  await geth.start();
  await geth.mine(DEPTH);
  await bench.untilLevel();
  assert.equal([(await shop.show(session)).payments, await geth.receipt(lost)], [[], null]);
  await pay(session, 1_100);
  await geth.mine(DEPTH);
  await expectPaid(session, ['11.00']);
  assert.is(await bench.expectBooks(), 2);
});

test('Quayside is killed with one payment seen and another on its way: both are credited once', async () => {
  const [seen, coming] = [await shop.newSession(1_200), await shop.newSession(1_300)];
  await pay(seen, 1_200);
  await geth.mine();
  await shop.waitForSeen(seen);
  await pay(coming, 1_300);
  await quayside.kill();
  await geth.mine(DEPTH);
  await quayside.start();
  await expectPaid(seen, ['12.00']);
  await expectPaid(coming, ['13.00']);
  assert.is(await bench.expectBooks(), 4);
});

test('both are killed at once, and the blocks come again: the payment is credited once', async () => {
  await geth.stop();
  await geth.start();
  const session = await shop.newSession(1_400);
  await pay(session, 1_400);
  await geth.mine(2);
  await shop.waitForSeen(session);
  await Promise.all([geth.kill(), quayside.kill()]);
  await geth.start();
  const started = quayside.start();
  await geth.replay();
  await started;
  await geth.mine(DEPTH);
  await expectPaid(session, ['14.00']);
  assert.is(await bench.expectBooks(), 5);
  assert.equal(bench.alarms(), []);
});

test.run();
