/**
 * What happens between Quayside and a geth: a connection that is cut or falls silent, a long outage, and another chain
 * at the same address.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deployToken } from '../support/contracts.ts';
import { until } from '../support/until.ts';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';
import { startTcpProxy } from './tcp-proxy.ts';

const CATCH_UP_BLOCKS = 600;
const CUTS = 5;

const geth = await startDrivenGeth({ chainId: 1 });
const proxy = await startTcpProxy(geth.port);
const bench = await openNodeShop({ node: geth, url: `ws://127.0.0.1:${proxy.port}` });
const { quayside, shop, pay, expectPaid } = bench;
test.after(async () => {
  await bench.close();
  await proxy.close();
});

test('a WebSocket that is cut, again and again, loses no payment', async () => {
  const sessions = [];
  for (let cut = 1; cut <= CUTS; cut++) {
    const session = await shop.newSession(cut * 100);
    sessions.push(session);
    await pay(session, cut * 100);
    const before = proxy.connections();
    proxy.cut();
    await geth.mine();
    await until('Quayside has connected again', () => proxy.connections() > before);
  }
  await geth.mine(4);
  for (const [at, session] of sessions.entries()) await expectPaid(session, [`${at + 1}.00`]);
});

test('a WebSocket that stays open and falls silent is given up, and the payment is credited over the next', async () => {
  const session = await shop.newSession(1_000);
  const before = proxy.connections();
  proxy.mute();
  await pay(session, 1_000);
  await geth.mine(4);
  await expectPaid(session, ['10.00']);
  assert.ok(proxy.connections() > before);
});

test('another chain with the same id and token addresses halts the network until it is restarted on its own, and pays nobody', async () => {
  const session = await shop.newSession(1_200);
  const books = await bench.expectBooks();
  const other = await startDrivenGeth({ chainId: 1, chainSalt: 'other' });
  try {
    const usdt = await deployToken(other, { symbol: 'USDT', decimals: 6 });
    const usdc = await deployToken(other, { symbol: 'USDC', decimals: 6 });
    assert.equal([usdt.address, usdc.address], [bench.contracts.USDT.address, bench.contracts.USDC.address]);
    await usdt.transfer(session.payment_options[0].address, 12_000_000n);
    await other.mine(4);
    proxy.pointTo(other.port);
    await bench.untilState('behind', 'node_behind');
    await other.mine((await geth.head()).number);
    await bench.untilState('halted', 'reorg_below_floor');
    await until('an alarm is raised', () => bench.alarms().length > 0);
    assert.equal(bench.alarms(), ['reorg_below_floor']);
    const { payment_status: status, payments } = await shop.show(session);
    assert.equal([status, payments], ['pending', []]);
    assert.is(await bench.expectBooks(), books);
    proxy.pointTo(geth.port);
    await quayside.stop();
    await quayside.start();
    await pay(session, 1_200);
    await geth.mine(4);
    await expectPaid(session, ['12.00']);
  } finally {
    await other.close();
  }
});

test(`a payment made while Quayside was stopped is found ${CATCH_UP_BLOCKS} blocks later`, async () => {
  const session = await shop.newSession(1_100);
  await quayside.stop();
  await pay(session, 1_100);
  await geth.mine(CATCH_UP_BLOCKS);
  await quayside.start();
  await expectPaid(session, ['11.00']);
  await bench.untilLevel();
  assert.equal(bench.alarms(), ['reorg_below_floor']);
  assert.is(await bench.expectBooks(), CUTS + 3);
});

test.run();
