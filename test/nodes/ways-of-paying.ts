/**
 * The ways in which money comes, and those in which none does, on a node that makes blocks by itself; then two hundred
 * payments at once.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addressOf } from '../e2e/evm.ts';
import { deployBatchSender, deployLookAlike, deployToken } from '../support/contracts.ts';
import type { Json } from '../support/instance.ts';
import { type NodeShop, unitsOf } from './node-shop.ts';

const BURST = 200;
const CENTS = 1_000;

/**
 * Registers the suite and runs it.
 * @param sendTogether runs what sends many payments, so that they come in few blocks
 */
export function waysOfPayingConform(
  bench: NodeShop,
  sendTogether: (send: () => Promise<unknown>) => Promise<unknown> = (send) => send(),
): void {
  const { node, shop, contracts, pay, expectPaid } = bench;
  const { USDT } = contracts;
  const [owner = '', , , poor = ''] = node.accounts;
  test.after(() => bench.close());

  test('money is credited however it comes: plain, in parts, through a contract, too much, in either token', async () => {
    const [plain, parts, routed, over, usdc, under] = [
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
    ];
    const batch = await deployBatchSender(node);
    await USDT.approve(batch.address, unitsOf(CENTS));
    await pay(plain, 1_000);
    await pay(parts, 400);
    await batch.sendFromCaller(USDT.address, [[addressOf(routed), unitsOf(CENTS)]]);
    await pay(over, 1_250);
    await pay(usdc, 1_000, 'USDC');
    await pay(under, 300);
    await shop.waitForSeen(parts);
    await pay(parts, 600);
    await expectPaid(plain, ['10.00']);
    await expectPaid(parts, ['4.00', '6.00']);
    await expectPaid(routed, ['10.00']);
    await expectPaid(over, ['12.50']);
    await expectPaid(usdc, ['10.00'], 'USDC');
    assert.ok((await shop.show(over)).overpaid);
    await shop.waitFor('shows the part', under, (now) => now.payments[0]?.status === 'confirmed');
    const { payment_status: status, payments, underpaid } = await shop.show(under);
    assert.equal([status, payments.length, payments[0].amount, underpaid], ['pending', 1, '3.00', true]);
    assert.is(await bench.expectBooks(), 7);
  });

  test('what looks like a payment and is none leaves no trace', async () => {
    const [inner, failed, liar, stranger, coin, zero, real] = [
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
      await shop.newSession(CENTS),
    ];
    const before = await bench.expectBooks();
    const batch = await deployBatchSender(node);
    const lookAlike = await deployLookAlike(node);
    const unlisted = await deployToken(node, { symbol: 'USDT', decimals: 6 });
    const units = unitsOf(CENTS);
    await USDT.transfer(batch.address, units);
    await node.mine();
    const undone = await batch.sendOwnUndoneInside(USDT.address, [[addressOf(inner), units]]);
    const reverted = await USDT.transfer(addressOf(failed), units, { from: poor });
    const others = [
      await lookAlike.claimTransfer(owner, addressOf(liar), units),
      await unlisted.transfer(addressOf(stranger), units),
      await node.send({ to: addressOf(coin), value: `0x${(10n ** 18n).toString(16)}` }),
      await USDT.transfer(addressOf(zero), 0n),
    ];
    await node.mine();
    assert.is((await node.receipt(reverted))?.status, '0x0');
    for (const tx of [undone, ...others]) assert.is((await node.receipt(tx))?.status, '0x1');
    // Once a later payment is credited, everything before it was read.
    await pay(real, CENTS);
    await expectPaid(real, ['10.00']);
    for (const session of [inner, failed, liar, stranger, coin, zero]) {
      const { payment_status: status, payments } = await shop.show(session);
      assert.equal([status, payments], ['pending', []]);
    }
    assert.is(await bench.expectBooks(), before + 1);
  });

  test(`${BURST} payments at once are each credited once`, async () => {
    const before = await bench.expectBooks();
    const sessions: Json[] = [];
    for (let left = BURST; left > 0; left--) sessions.push(await shop.newSession(CENTS));
    await sendTogether(() => Promise.all(sessions.map((session) => pay(session, CENTS))));
    for (const session of sessions) await expectPaid(session, ['10.00']);
    assert.is(await bench.expectBooks(), before + BURST);
    assert.equal(bench.alarms(), ['money_surplus']);
  });

  test.run();
}
