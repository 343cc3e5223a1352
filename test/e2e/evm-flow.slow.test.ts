/**
 * The long flow suite on EVM, and a token that keeps a fee.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { centsOf, flowConforms } from '../conformance/flow.ts';
import { openEvmFlow } from './evm.ts';

const { bench, feeToken, network: ethereum } = await openEvmFlow();
const { shop } = bench;
test.after(() => bench.close());

test('with a fee on transfer, the amount in the event is credited', async () => {
  const session = await shop.newSession(10_000);
  const cents = (amount: number) => centsOf(ethereum, 'USDT', amount);
  await feeToken.setFee(10n, cents(100_000));
  await ethereum.mine();
  await ethereum.pay(session, 'USDT', cents(10_000));
  await ethereum.confirm();
  await shop.waitFor('shows the net amount', session, (now) => now.payments[0]?.status === 'confirmed');
  const part = await shop.show(session);
  assert.is(part.payments[0].amount, '99.90');
  assert.is(part.payment_status, 'pending');
  assert.ok(part.underpaid);
  await feeToken.setFee(0n, 0n);
  await ethereum.mine();
  await ethereum.pay(session, 'USDT', cents(10));
  await ethereum.confirm();
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 10_000);
});

flowConforms(bench);
