import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks, refundConforms } from '../conformance/refund.ts';
import type { Json } from '../support/instance.ts';
import { find } from '../support/quayside-process.ts';
import { openTronPayouts } from './tron.ts';

const { shop, node } = await openTronPayouts({ blocks: 2, finality: false, tiers: null });
refundConforms(shop, { coinsLate: 500, gas: { units: 20_000_000n, coins: 100 } });

test('a refund that the node fails to quote says so itself, until it is paid', async () => {
  const { quayside } = shop;
  const session = await shop.paidSession(600);
  node.faults.set({ rates: { call_failed: 0.9 } });
  const { id, payee } = await shop.refund(session, '6.00');
  const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
  const why = await find('the refund says why', async () => {
    const { payout } = await quayside.cli('show', listed.id);
    return payout?.state === 'waiting' && payout.waits_for;
  });
  assert.is(why.code, 'node_error');
  node.faults.heal();
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [shop.unitsOf(600, 'USDT')]);
  assert.is((await quayside.cli('show', listed.id)).payout.waits_for, null);
});

closeBooks(shop);
