/**
 * A machine that is put back to an earlier state, database and signer together, as with a snapshot or a disk image: on
 * any family nothing is paid twice, and nothing more is paid until an operator has reconciled what the chain shows.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../support/instance.ts';
import type { PayoutShop } from '../support/payout-shop.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

export type RestoreTraits = Readonly<{
  /** Coins for the refund wallet, besides those that it has. `isPoor`: without them it cannot pay. */
  coins: number;
  isPoor?: true;
  /** Where transactions expire. */
  expiry?: Readonly<{
    /** Lets the chain go on to a time, or until everything that is signed now has expired. */
    pass(untilMs?: number): void;
  }>;
}>;

/** Registers the suite; `closeBooks` runs it. */
export function restoreConforms(bench: PayoutShop, { coins, isPoor, expiry }: RestoreTraits): void {
  const { chain, quayside, refundWallet, paidSession, refund, show, completed, passAwaited, untilWaiting, paidTo } =
    bench;
  const units = (cents: number) => bench.unitsOf(cents, 'USDT');
  let funded = 0;

  const waitsFor = async (code: string): Promise<boolean> => {
    const { engines } = (await quayside.cli('status')).payouts;
    return engines.some(({ reason }: Json) => reason?.code === code);
  };

  /** Waits until a refund is completed; meanwhile the chain's time passes if the engine waits for that. */
  async function completedInTime(id: string) {
    const done = completed(id);
    const isOpen = () => Promise.race([done.then(() => false), wait(1_000).then(() => true)]);
    while (expiry && (await isOpen())) await passAwaited(expiry.pass);
    return done;
  }

  /** Reconciles the network as often as it is frozen, until something holds. */
  async function reconcileUntil(holds: () => Promise<boolean>) {
    const words = ['payout', 'reconcile', bench.network, '--reason', 'restored', '--yes'] as const;
    await until('the network is reconciled', async () => {
      if (expiry) await passAwaited(expiry.pass);
      const { frozen } = (await quayside.cli('status')).payouts;
      if (frozen.length > 0) {
        await quayside
          .cli(...words)
          .catch((error: unknown) => assert.match(String(error), /payouts_settling|"still_frozen":\[\{/));
      }
      return holds();
    });
  }

  /** Pays a refund, then puts the machine, or half of it, back to when the refund was processing and unsigned. */
  async function payThenPutBack(cents: number, half?: 'data' | 'signer') {
    const session = await paidSession(cents);
    const { id, payee } = await refund(session, amount(cents));
    await untilWaiting('token_short');
    const putBack = await bench.snapshot();
    await chain.pay(refundWallet, 'USDT', units(cents));
    if (funded++ === 0) {
      if (isPoor) await untilWaiting('native_short');
      await chain.fund(refundWallet, coins);
    }
    const { transaction_hash: tx } = await completed(id);
    assert.equal(await paidTo(payee), [units(cents)]);
    await quayside.stop();
    putBack(half);
    // Enough for a second payment.
    await chain.pay(refundWallet, 'USDT', units(cents));
    await quayside.start();
    return { session, id, payee, tx };
  }

  async function isPaidOnce({ id, payee, tx }: Awaited<ReturnType<typeof payThenPutBack>>, cents: number) {
    await reconcileUntil(async () => (await show(id)).status === 'completed');
    assert.is((await show(id)).transaction_hash, tx, 'settled by the transaction that paid it');
    assert.equal(await paidTo(payee), [units(cents)]);
    await reconcileUntil(async () => (await quayside.cli('status')).payouts.frozen.length === 0);
    await expectBooks(quayside.cli);
  }

  let before = { tx: '' };
  test('a refund that was paid is not paid again, and the books say that it is paid', async () => {
    const put = await payThenPutBack(1_200);
    before = put;
    await isPaidOnce(put, 1_200);
    // The wallet goes on: what was left for a second payment pays another refund.
    await paysAnother(1_200);
    assert.is((await show(put.id)).status, 'completed');
  });

  const untilStopped = (code: string) => until(`payouts are stopped: ${code}`, () => waitsFor(code));

  async function paysAnother(cents: number) {
    const other = await refund(await paidSession(cents), amount(cents));
    await completedInTime(other.id);
    assert.equal(await paidTo(other.payee), [units(cents)]);
  }

  test('a database that is put back alone pays nothing before it knows what the signer has signed; resolve --paid is enough', async () => {
    const put = await payThenPutBack(500, 'data');
    await untilStopped('payouts_not_adopted');
    const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === put.id);
    const resolve = (tx: string) =>
      quayside.cli('payout', 'resolve', listed.id, '--paid', tx, '--reason', 'the database was restored');
    const refusal = (tx: string) => resolve(tx).then(() => 'resolved', String);
    assert.match(await refusal(before.tx), 'payout_of_another');
    const strange = await chain.pay(put.payee, 'USDT', units(500));
    if (typeof strange === 'string') assert.match(await refusal(strange), /payout_not_shown|payout_outcome_unclear/);
    assert.is((await show(put.id)).status, 'processing');
    await resolve(put.tx);
    await isPaidOnce(put, 500);
    await paysAnother(500);
  });

  test('a signer that is put back alone pays nothing before it is adopted, and never what the database knows', async () => {
    const put = await payThenPutBack(600, 'signer');
    await untilStopped('signer_journal_behind');
    await isPaidOnce(put, 600);
    await quayside.cli('payout', 'reconcile', bench.network);
    await paysAnother(600);
    await isPaidOnce(put, 600);
  });

  // Where transactions have nonces, `evm-new-machine.slow.test.ts` shows it.
  if (!expiry) return;
  test('a refund that the database has lost is found on the chain: money out is frozen until a person has looked', async () => {
    const session = await paidSession(900);
    const putBack = await bench.snapshot();
    await chain.pay(refundWallet, 'USDT', units(900));
    const { id, payee } = await refund(session, '9.00');
    const { transaction_hash: tx } = await completed(id);
    await quayside.stop();
    putBack();
    await chain.pay(refundWallet, 'USDT', units(900));
    await quayside.start();
    await until('it is noticed', async () =>
      JSON.stringify((await quayside.cli('status')).payouts.frozen).includes('"wallet_outflow_foreign"'),
    );
    // The merchant, who finds no such refund, requests it again.
    const again = await bench.ask(session, id, '9.00', payee);
    assert.is(again.status, 201, JSON.stringify(again.body));
    await reconcileUntil(async () => (await show(id)).status === 'completed');
    assert.is((await show(id)).transaction_hash, tx);
    assert.equal(await paidTo(payee), [units(900)]);
    await paysAnother(300);
  });
}

const amount = (cents: number): string => (cents / 100).toFixed(2);
