/**
 * The sweep suite on TRON, with burned TRX, and with energy that is lent and reclaimed; the restore and refund suites;
 * a refund by a stake; and the short payment suite.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { paymentConforms } from '../conformance/flow.ts';
import { refundConforms } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import type { Json } from '../support/instance.ts';
import { find } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';
import { openTronPayouts } from './tron.ts';

const TRX = 1_000_000n;

const { shop, node, pass, payments } = await openTronPayouts();
const { chain, quayside, gasWallet, refundWallet } = shop;
const { world } = node;

// The address never held TRX, so it gets what its sweep burns.
sweepConforms(shop, {
  paid: [[2_500, 'USDT']],
  poor: /^native_short: .*send that amount to it/,
  coins: 200,
  sweeps: [['25.00 USDT', 1, ['transfer']]],
  tooSmall: [],
  costShare: null,
});

test('with a stake, an address is lent energy for its sweep, which is reclaimed', async () => {
  const session = await shop.paidSession(4_000);
  const owner = shop.keyOf(session);
  await until('it is final', async () => {
    const plan = await quayside.cli('sweep', shop.network, '--dry-run');
    return plan.sweeps.length + plan.left.length === 1;
  });
  await chain.fund(refundWallet, 1);
  world.fund(gasWallet, 1_000_000n * TRX, true);
  const planned = async (): Promise<Json> => (await quayside.cli('sweep', shop.network, '--dry-run')).sweeps[0];
  const formsOf = ({ gas }: Json): string[] => gas.map(({ form }: Json) => form);
  await until('energy can be lent', async () => formsOf(await planned()).includes('delegate'));
  const plan = await planned();
  assert.equal(formsOf(plan), ['transfer', 'delegate']);
  assert.ok(Number(/^([\d.]+) TRX$/.exec(plan.likely_cost)?.[1]) < 4, plan.likely_cost);
  const before = world.accounts().native(gasWallet);
  const [{ id }] = (await quayside.cli('sweep', shop.network, '--yes')).sweeps;
  await until('it is swept', async () => (await quayside.cli('show', id)).state === 'succeeded');
  assert.is(await chain.held(chain.treasury, 'USDT'), shop.unitsOf(6_500, 'USDT'));
  assert.is(await chain.held(owner, 'USDT'), 0n);
  await until('the loan is taken back', async () => {
    const gas = (await quayside.cli('payout', 'list')).filter(({ kind }: Json) => kind === 'gas');
    return gas.length === 4 && gas.every(({ state }: Json) => state === 'succeeded');
  });
  assert.is(world.accounts().lent(gasWallet, owner), 0n);
  // A new account costs 1.1 TRX; burning the energy would cost more than 6.
  assert.ok(before - world.accounts().native(gasWallet) < 4n * TRX, 'little was burned');
});

restoreConforms(shop, { coins: 500, isPoor: true, expiry: { pass } });
refundConforms(shop);

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

test('with a stake of its own, the refund wallet burns nothing for the energy of a refund', async () => {
  const session = await shop.paidSession(1_000);
  await chain.pay(refundWallet, 'USDT', shop.unitsOf(10_000, 'USDT'));
  await chain.fund(refundWallet, 50);
  world.fund(refundWallet, 1_000_000n * TRX, true);
  const before = world.accounts().native(refundWallet);
  const { id, payee } = await shop.refund(session, '10.00');
  await shop.completed(id);
  assert.equal(await shop.paidTo(payee), [shop.unitsOf(1_000, 'USDT')]);
  // The energy of a transfer to somebody without USDT costs 13 TRX.
  assert.ok(before - world.accounts().native(refundWallet) < TRX, 'at most its bytes were burned');
  assert.is(world.accounts().lent(gasWallet, refundWallet), 0n, 'a refund is lent nothing');
});

test.run();

// Payments are counted block by block, which the suites above cannot wait for.
test.before(() => node.rest());
test.after(shop.close);
paymentConforms(payments);
