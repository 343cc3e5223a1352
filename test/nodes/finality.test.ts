/**
 * Finality as a consensus client decides it: none yet, late, stalled, and broken.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../support/until.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';

const geth = await startDrivenGeth({ chainId: 1, finalDepth: null });
const bench = await openNodeShop({
  node: geth,
  // With blocks this slow, finality that is 30 of them behind has stalled.
  settings: { confirmations: { finality: 'finalized', usual: 3, blocks: null, tiers: null }, block_time_ms: 12_000 },
});
const { quayside, shop, pay, expectPaid } = bench;
test.after(() => bench.close());

test('while the node calls no block final, nothing is credited; once it does, what is below it is', async () => {
  const session = await shop.newSession(1_000);
  await pay(session, 1_000);
  await geth.mine(30);
  await bench.untilLevel();
  await shop.waitFor('is deep', session, (now) => now.payments[0]?.confirmations === 30);
  assert.is((await shop.show(session)).payment_status, 'pending');
  await bench.untilState('following', 'finality_stalled');
  assert.match((await bench.network()).reason.message, /calls no block final/);
  await geth.finalize({ depth: 3 });
  await expectPaid(session, ['10.00']);
  await until('nothing is wrong any more', async () => (await bench.network()).reason === null);
});

test('while finality stalls, new payments wait for it, and are credited when it goes on', async () => {
  const { number } = await geth.head();
  await geth.finalize(number - 3);
  const session = await shop.newSession(1_100);
  await pay(session, 1_100);
  await geth.mine(30);
  await bench.untilLevel();
  await shop.waitFor('is deep', session, (now) => now.payments[0]?.confirmations === 30);
  assert.is((await shop.show(session)).payment_status, 'pending');
  await bench.untilState('following', 'finality_stalled');
  assert.match((await bench.network()).reason.message, new RegExp(`calls block ${number - 3} final`));
  await geth.finalize({ depth: 3 });
  await expectPaid(session, ['11.00']);
});

test('a chain rewritten below what was final halts the network, with an alarm, and no session is offered there', async () => {
  const credited = await shop.newSession(1_200);
  await pay(credited, 1_200);
  await geth.mine(4);
  await expectPaid(credited, ['12.00']);
  assert.is(await bench.expectBooks(), 3);
  await geth.adopt(await geth.branch(6, { blocks: 8 }));
  await bench.untilState('halted', 'reorg_below_floor');
  await until('an alarm is raised', () => bench.alarms().length > 0);
  assert.equal(bench.alarms(), ['reorg_below_floor']);
  const { status } = await quayside.api('POST', '/api/v1/checkout/sessions/create', {
    amount: 1_300,
    currency: 'USD',
    order_id: 'after',
  });
  assert.is(status, 503);
  await geth.mine(4);
  assert.is((await bench.network()).state, 'halted');
  const { payment_status: paid, payments } = await shop.show(credited);
  assert.equal([paid, payments[0].status], ['paid', 'confirmed'], 'a person decides what becomes of it');
});

test.run();
