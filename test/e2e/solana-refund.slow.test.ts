import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lockAddress, lockSeed, olderLockSeed } from '../../src/chains/solana/lock.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import { refundIdOf } from '../../src/database/sqlite/refunds/row.ts';
import { closeBooks, refundConforms } from '../conformance/refund.ts';
import type { Json } from '../support/instance.ts';
import { seed } from '../support/payout-shop.ts';
import { until } from '../support/until.ts';
import { openSolanaPayouts } from './solana.ts';

const { shop, node } = await openSolanaPayouts();
refundConforms(shop, { coinsLate: 1, gas: null });

test('who funds the address of a lock, the one that older versions used or the one seen in a transaction, stops no refund', async () => {
  const { chain, quayside, paidSession, refund, completed, paidTo } = shop;
  const { key, secret } = solanaSpending.derive(seed, { role: 'refund' });
  const [{ id: storeId }] = await quayside.cli('store', 'list');
  const session = await paidSession(700);
  // Whoever knows the merchant, and how it names its refunds, can compute the id.
  const foreseen = refundIdOf({ storeId, mode: 'test', refundId: `refund-${shop.refundsAsked() + 1}` });
  await chain.fund(lockAddress(key, olderLockSeed(foreseen)), 1);
  node.faults.set({ rates: { send_dropped: 1 } });
  const { id, payee } = await refund(session, '7.00');
  const sent = () => quayside.cli('payouts', 'list', '--state', 'sent');
  await until('its transaction is public', async () => (await sent()).some((one: Json) => one.id === foreseen));
  await chain.fund(lockAddress(key, lockSeed(secret, foreseen)), 1);
  node.faults.heal();
  await completed(id);
  assert.equal(await paidTo(payee), [shop.unitsOf(700, 'USDT')]);
  const locks = [lockSeed(secret, foreseen), olderLockSeed(foreseen)].map((text) => lockAddress(key, text));
  assert.ok(locks.every((lock) => node.world.accounts().native(lock) >= 1_000_000_000n));
});

closeBooks(shop);
