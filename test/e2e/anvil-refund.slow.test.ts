/**
 * Money out on a real EVM node: a signed call refunds a paid session, the signer's own process signs, anvil executes, and the merchant gets a
 * signed webhook. Everything of Quayside runs as it does for an operator.
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Intent } from '../../src/core/intent.ts';
import { openRefundShop } from '../support/refund-shop.ts';
import { until } from '../support/until.ts';

const bench = await openRefundShop();
const { anvil, usdt, wallet, quayside, shop, paidSession, refund, show, completed, untilWaiting, paidTo } = bench;
test.after(() => bench.close());

test('a refund without float waits, and is paid as soon as the wallet can', async () => {
  const session = await paidSession(2_000);
  const { id, payee } = await refund(session, '12.34');
  await untilWaiting('token_short', 1);
  assert.is((await show(id)).status, 'processing');
  assert.equal(await paidTo(payee), []);
  await usdt.transfer(wallet, 1_000_000_000n);

  const { transaction_hash: tx, receipt_number: receipt } = await completed(id);
  assert.match(receipt, /^RF-\d{4}-\d{8}$/);
  assert.equal(await paidTo(payee), [12_340_000n]);
  assert.is((await anvil.receipt(tx))?.status, '0x1');
  await until('it is announced', () => shop.events(session, 'refund.succeeded').length > 0);
  const [event] = shop.events(session, 'refund.succeeded');
  assert.is(event.data.object.refund_id, id);
  assert.is(event.data.object.refund_amount, 1_234);
});

test('refunds of several sessions at once are each paid once, and together no more than was received', async () => {
  const sessions = [await paidSession(1_000), await paidSession(1_500), await paidSession(700)];
  const asked = await Promise.all(
    sessions.flatMap((session) => [refund(session, '2.00'), refund(session, '1.50'), refund(session, '0.01')]),
  );
  const payee = `0x${'b'.repeat(40)}`;
  const { status, body } = await bench.ask(sessions[2], 'too-much', '3.50', 'USDT', payee);
  assert.is(status, 400, JSON.stringify(body));
  assert.is(body.error.code, 'REFUND_AMOUNT_EXCEEDED');
  for (const { id } of asked) await completed(id);
  const paid = await Promise.all(asked.map(({ payee }) => paidTo(payee)));
  assert.equal(
    paid,
    sessions.flatMap(() => [[2_000_000n], [1_500_000n], [10_000n]]),
  );
});

test('a stop in the middle and a start later pay once', async () => {
  const session = await paidSession(900);
  const { id, payee } = await refund(session, '9.00');
  await until('it is under way', async () => (await show(id)).status !== 'pending');
  await quayside.stop();
  await quayside.start();
  await completed(id);
  assert.equal(await paidTo(payee), [9_000_000n]);
});

test('a reorg takes a payment back, and it is made good with the same transaction', async () => {
  const session = await paidSession(800);
  const { id, payee } = await refund(session, '8.00');
  await until('it stands in a block', async () => (await paidTo(payee)).length === 1);
  await anvil.reorg(1);
  const { transaction_hash: tx } = await completed(id);
  assert.equal(await paidTo(payee), [8_000_000n]);
  assert.is((await anvil.receipt(tx))?.status, '0x1');
});

test('a collection address is given gas, and swept to the treasury', async () => {
  const session = await paidSession(1_200);
  const index = bench.indexOf(session);
  await anvil.rpc('anvil_setBalance', [bench.gasWallet, `0x${(10n ** 18n).toString(16)}`]);
  const network = 'test:ethereum';
  const from = [{ index, units: 12_000_000n }];
  const sweep: Intent = { kind: 'sweep', id: 'sweep-1', network, currency: 'USDT', from };
  const gas: Intent = { kind: 'gas', id: 'gas-1', network, form: 'transfer', index, units: 10n ** 15n };
  await bench.plan([{ intent: sweep }, { intent: gas, servesId: sweep.id }]);
  await until('it is swept', async () => (await quayside.cli('payouts', 'show', sweep.id)).state === 'succeeded');
  assert.is(await usdt.balanceOf(bench.treasury), 12_000_000n);
  assert.is(await usdt.balanceOf(session.payment_options[0].address), 0n);
});

test('the books balance afterwards', async () => {
  const { balanced, problems } = await quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();
