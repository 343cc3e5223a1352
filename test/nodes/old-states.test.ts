/**
 * Payouts while finality lags behind the states that geth keeps.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from '../e2e/evm.ts';
import { until } from '../support/until.ts';
import { startPayoutGeth } from './payout-geth.ts';

/** geth keeps the states of 128 blocks. */
const LAG_BLOCKS = 140;

const geth = await startPayoutGeth({ options: ['--history.state', '5'] });
const { shop, usdt } = await openEvmPayouts(undefined, geth);

test(`refunds are sent while finality is ${LAG_BLOCKS} blocks behind, and are complete once it is back`, async () => {
  await usdt.transfer(`0x${shop.refundWallet}`, 1_000_000_000n);
  const session = await shop.paidSession(1_000);
  const first = await shop.refund(session, '1.00');
  await shop.completed(first.id);
  const { number } = await geth.head();
  await geth.finalize(number - 4);
  await geth.mine(LAG_BLOCKS);
  const state = geth.rpc<string>('eth_getBalance', [geth.accounts[0], 'finalized']);
  assert.match(await state.catch((error: Error) => error.message), /historical state .* is not available/);
  const [one, other] = [await shop.refund(session, '2.00'), await shop.refund(session, '3.00')];
  for (const { payee } of [one, other])
    await until('the refund is in a block', async () => (await shop.paidTo(payee)).length === 1);
  assert.is((await shop.show(one.id)).status, 'processing', 'it is not final');
  await geth.finalize({ depth: 4 });
  for (const { id } of [one, other]) await shop.completed(id);
  assert.equal([await shop.paidTo(one.payee), await shop.paidTo(other.payee)], [[2_000_000n], [3_000_000n]]);
});

closeBooks(shop);
