/**
 * Money back to a payer, from the signed call to the signed webhook, on any family: the installation's own signer
 * process signs, and each refund is paid once.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Faults } from '../simulated/faults.ts';
import { has } from '../support/fields.ts';
import type { Json } from '../support/instance.ts';
import type { PayoutShop } from '../support/payout-shop.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

/** Registers the suite; `closeBooks` runs it. */
export function refundConforms(bench: PayoutShop): void {
  const { chain, quayside, shop, refundWallet, paidSession, refund, show, completed, untilWaiting, paidTo } = bench;
  const units = (cents: number) => bench.unitsOf(cents, 'USDT');

  test('a refund waits while the wallet is empty, and is paid as soon as it is funded', async () => {
    const session = await paidSession(2_000);
    const { id, payee } = await refund(session, '12.34');
    await untilWaiting('token_short');
    assert.is((await show(id)).status, 'processing');
    assert.equal(await paidTo(payee), []);
    await chain.pay(refundWallet, 'USDT', units(100_000));
    const { transaction_hash: tx, receipt_number: receipt } = await completed(id);
    assert.match(receipt, /^RF-\d{4}-\d{8}$/);
    assert.equal(await paidTo(payee), [units(1_234)]);
    assert.ok(await chain.hasSucceeded(tx));
    await until('it is announced', () => shop.events(session, 'refund.succeeded').length > 0);
    has(shop.events(session, 'refund.succeeded')[0].data.object, { refund_id: id, refund_amount: 1_234 });
  });

  test('a refund above what is paid by itself waits for an approval, and a node that does not answer stops none', async () => {
    const { stop, start } = chain;
    const policy = (...words: string[]) => quayside.cli('store', 'set', quayside.merchantId, ...words);
    const automatic = (await policy()).after.refund_auto_minor / 100;
    await policy('--refund-automatic=1.00');
    const session = await paidSession(500);
    const { id, payee } = await refund(session, '5.00');
    const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
    assert.is((await quayside.cli('refund', 'approve', listed.id, '--dry-run')).dry_run, true);
    assert.is((await quayside.cli('show', listed.id)).needs, 'waiting for `quayside refund approve`');
    await stop?.();
    await quayside.cli('refund', 'approve', listed.id);
    await start?.();
    await policy(`--refund-automatic=${automatic.toFixed(2)}`);
    await completed(id);
    assert.equal(await paidTo(payee), [units(500)]);
  });

  test('concurrent refunds of several sessions are each paid once, and together no more than was received', async () => {
    const sessions = [await paidSession(1_000), await paidSession(1_500), await paidSession(700)];
    const asked = await Promise.all(
      sessions.flatMap((session) => [refund(session, '2.00'), refund(session, '1.50'), refund(session, '0.01')]),
    );
    const { status, body } = await bench.ask(sessions[2], 'too-much', '3.50', asked[0]?.payee ?? '');
    assert.is(status, 400, JSON.stringify(body));
    assert.is(body.error.code, 'REFUND_AMOUNT_EXCEEDED');
    for (const { id } of asked) await completed(id);
    const paid = await Promise.all(asked.map(({ payee }) => paidTo(payee)));
    assert.equal(
      paid,
      sessions.flatMap(() => [[units(200)], [units(150)], [units(1)]]),
    );
  });

  test('a stop in the middle of a refund and a later start pay it once', async () => {
    const session = await paidSession(900);
    const { id, payee } = await refund(session, '9.00');
    await until('it is under way', async () => (await show(id)).status !== 'pending');
    await quayside.stop();
    await quayside.start();
    await completed(id);
    assert.equal(await paidTo(payee), [units(900)]);
  });

  const testReorg = async (reorg: () => Promise<unknown>): Promise<void> => {
    const session = await paidSession(800);
    const { id, payee } = await refund(session, '8.00');
    await until('it is in a block', async () => (await paidTo(payee)).length === 1);
    await reorg();
    const { transaction_hash: tx } = await completed(id);
    assert.equal(await paidTo(payee), [units(800)]);
    assert.ok(await chain.hasSucceeded(tx));
  };
  const { reorg } = chain;
  if (reorg) test('a reorg takes a payment back, and it is made good', () => testReorg(reorg));

  const testLoss = async (faults: Faults): Promise<void> => {
    const session = await paidSession(1_000);
    faults.set({ rates: { send_dropped: 0.7, send_denied: 0.5 } });
    const asked = [await refund(session, '1.00'), await refund(session, '2.00'), await refund(session, '3.00')];
    for (const { id } of asked) await completed(id);
    faults.heal();
    const paid = await Promise.all(asked.map(({ payee }) => paidTo(payee)));
    assert.equal(paid, [[units(100)], [units(200)], [units(300)]]);
  };
  const { faults } = chain;
  if (faults)
    test('a node that throws away what it takes is sent it again, and one that denies what it took pays once', () =>
      testLoss(faults));

  test('held money is returned once, by the operator, and can then be neither accepted nor returned', async () => {
    const session = await shop.newSession(600);
    await chain.pay(bench.keyOf(session), 'USDT', units(725));
    await shop.waitForStatus(session, 'paid');
    const held = async (): Promise<Json[]> => {
      const all: Json[] = await quayside.cli('held', 'list', '--state', 'any');
      return all.filter((one) => one.session === session.id);
    };
    await until('the surplus is held', async () => (await held())[0]?.state === 'open');
    const [{ id, kind, amount }] = await held();
    assert.equal({ kind, amount }, { kind: 'surplus', amount: '1.25' });
    const payee = bench.newPayee();
    const words = ['held', 'return', id, '--to', bench.format(payee), '--reason', 'paid too much'];
    const tried = await quayside.cli(...words, '--dry-run');
    assert.equal(
      { amount: tried.amount, address: tried.to, state: (await held())[0].state },
      { amount: '1.25 USDT', address: bench.format(payee), state: 'open' },
    );
    const begun = await quayside.cli(...words);
    has(begun, { amount: '1.25', address: bench.format(payee) });
    for (const again of [words, ['held', 'accept', id]]) {
      const refusal = await quayside.cli(...again).then(() => '', String);
      assert.match(refusal, /is decided already/);
    }
    await until('it is returned', async () => (await held())[0].state === 'returned');
    assert.equal(await paidTo(payee), [units(125)]);
    const { kind: sent, payout } = await quayside.cli('show', begun.return);
    assert.equal({ sent, state: payout.state }, { sent: 'return', state: 'succeeded' });
    const more = await bench.ask(session, 'beyond', '6.01', payee);
    assert.is(more.body.error?.code, 'REFUND_AMOUNT_EXCEEDED', 'what was returned cannot be refunded');
    const { id: rest, payee: other } = await refund(session, '6.00');
    await completed(rest);
    assert.equal(await paidTo(other), [units(600)]);
    assert.equal(shop.events(session, 'payment.reversed'), []);
  });
}

/** Registers the last test of every payout suite, runs them all, and closes the installation. */
export function closeBooks({ quayside, close }: PayoutShop): void {
  test.after(close);
  test('the books balance afterwards', async () => {
    await expectBooks(quayside.cli);
  });
  test.run();
}
