/**
 * Forks of a real geth that arrive as they do on mainnet: several blocks in one fork choice. And a chain that goes back
 * without a fork: by command, or because geth is killed, comes back on an earlier head, and is given the blocks again.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../support/instance.ts';
import { until } from '../support/until.ts';
import { rivalsOf } from './accounts.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';

const DEPTH = 4;

const geth = await startDrivenGeth({ chainId: 1, isForgetful: true });
const bench = await openNodeShop(geth);
const { shop, pay, expectPaid } = bench;
test.after(() => bench.close());

const statuses = ({ payments }: Json): string[] => payments.map((one: Json) => one.status).sort();
const untilStatuses = (session: Json, ...expected: string[]) =>
  shop.waitFor(`has payments ${expected.join(', ')}`, session, (now) => statuses(now).join() === expected.join());

test('a branch of three replaces the block of a payment; mined again, it is credited once', async () => {
  const session = await shop.newSession(1_000);
  const tx = await pay(session, 1_000);
  await geth.mine();
  await shop.waitForSeen(session);
  await geth.adopt(await geth.branch(1, { blocks: 3 }));
  await untilStatuses(session, 'orphaned');
  assert.is(await geth.receipt(tx), null);
  await geth.mine(DEPTH);
  await expectPaid(session, ['10.00']);
  await untilStatuses(session, 'confirmed', 'orphaned');
  assert.equal(bench.alarms(), []);
  assert.is(await bench.expectBooks(), 1);
});

test('a branch that has the payment too puts it into another block, and it is credited once', async () => {
  const session = await shop.newSession(1_100);
  await pay(session, 1_100);
  await geth.mine(2);
  await shop.waitForSeen(session);
  await geth.adopt(await geth.branch(2, { fill: 'all' }));
  await untilStatuses(session, 'orphaned', 'seen');
  await geth.mine(DEPTH);
  await expectPaid(session, ['11.00']);
  assert.is(await bench.expectBooks(), 2);
});

test('a credited payment that a longer branch takes back raises an alarm, and is not credited again when it returns', async () => {
  const session = await shop.newSession(1_200);
  await pay(session, 1_200);
  await geth.mine(DEPTH);
  await expectPaid(session, ['12.00']);
  await geth.adopt(await geth.branch(DEPTH, { blocks: DEPTH + 1 }));
  await untilStatuses(session, 'orphaned');
  assert.is((await shop.show(session)).payment_status, 'paid');
  await until('an alarm is raised', () => bench.alarms().length > 0);
  assert.equal(bench.alarms(), ['payment_reversed']);
  await until('the merchant is notified', () => shop.events(session, 'payment.reversed').length > 0);
  await bench.untilLevel();
  assert.is(await bench.expectBooks(), 2);
  await geth.mine(DEPTH);
  await untilStatuses(session, 'confirmed', 'orphaned');
  await expectPaid(session, ['12.00']);
  assert.is(await bench.expectBooks(), 3);
});

test('a credited payment whose sender has spent the money otherwise on the other branch stays taken back', async () => {
  const session = await shop.newSession(1_300);
  await pay(session, 1_300);
  await geth.mine(DEPTH);
  await expectPaid(session, ['13.00']);
  await geth.reorg(DEPTH);
  await untilStatuses(session, 'orphaned');
  await geth.mine(DEPTH);
  await bench.untilLevel();
  assert.equal(bench.alarms(), ['payment_reversed', 'payment_reversed']);
  assert.is(await bench.expectBooks(), 3);
});

test('a node set back by debug_setHead is waited for; what it forgot is taken back, and paid again it is credited', async () => {
  const session = await shop.newSession(1_400);
  await pay(session, 1_400);
  await geth.mine(3);
  await shop.waitFor('is nearly confirmed', session, (now) => now.payments[0]?.confirmations === 3);
  const { number } = await geth.head();
  const forgotten = await geth.setHead(number - 3);
  await bench.untilState('behind', 'node_behind');
  assert.equal(statuses(await shop.show(session)), ['seen'], 'a node that is behind proves nothing');
  // Whether geth puts the payment back into its pool depends on timing; after a rival it cannot come again.
  await geth.mineElsewhere(await rivalsOf(forgotten));
  await geth.mine(DEPTH - 1);
  await untilStatuses(session, 'orphaned');
  assert.is((await shop.show(session)).payment_status, 'pending');
  await pay(session, 1_400);
  await geth.mine(DEPTH);
  await expectPaid(session, ['14.00']);
  assert.is(await bench.expectBooks(), 4);
});

test('geth is killed, comes back without its newest blocks, and gets them again: a seen payment is credited once', async () => {
  // geth comes back with what was mined so far.
  await geth.stop();
  await geth.start();
  const session = await shop.newSession(1_500);
  await pay(session, 1_500);
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
  await expectPaid(session, ['15.00']);
  assert.is(await bench.expectBooks(), 5);
});

test.run();
