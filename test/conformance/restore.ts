/**
 * A machine that is put back to an earlier state, database and signer together, as with a snapshot or a disk image: on
 * any family nothing is paid twice, and nothing more is paid until an operator has reconciled what the chain shows.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Currency } from '../../src/core/transfer.ts';
import { openDatabase } from '../../src/database/engine/open.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import type { FaultSettings } from '../simulated/faults.ts';
import type { Json } from '../support/instance.ts';
import type { PayoutShop } from '../support/payout-shop.ts';
import { until } from '../support/until.ts';

export type RestoreTraits = Readonly<{
  /** Coins for the refund wallet, besides those that it has. */
  coins: number;
  /** Whether its wallets have sequence numbers, so that a database may lack them. */
  hasLanes: boolean;
  /** Lets the refund wallet send, and has what it sends fail in its block: of refunds in a currency. */
  failNext?: Readonly<{ currency: Currency; run(fund: () => Promise<unknown>): Promise<void> }>;
  /** Of a simulated node: what keeps blocks from being read that are older than a few seconds, at least. */
  unreadable?: FaultSettings;
  /** Where nodes hold what is in no block yet. */
  pool?: Readonly<{
    /** Makes no more blocks. */
    pause(): Promise<unknown>;
    /** Makes one block. */
    mine(): Promise<unknown>;
    /** Makes blocks that take no payment. */
    hold(): Promise<unknown>;
    /** Makes blocks as before. */
    resume(): Promise<unknown>;
  }>;
  /** Where transactions expire. */
  expiry?: Readonly<{
    /** Sends signed bytes to the node, where nothing on the chain excludes a second payment. */
    send?(bytes: Uint8Array): Promise<unknown>;
    /** Lets the chain go on to a time, or until everything that is signed now has expired. */
    pass(untilMs?: number): void;
  }>;
}>;

type Sent = Readonly<{ tx: string; bytes: Uint8Array }>;

/** Registers the suite; `closeBooks` runs it. */
export function restoreConforms(
  bench: PayoutShop,
  { coins, hasLanes, failNext, unreadable, pool, expiry }: RestoreTraits,
): void {
  const { chain, quayside, refundWallet, paidSession, refund, show, completed, passAwaited, untilWaiting, paidTo } =
    bench;
  const units = (cents: number) => bench.unitsOf(cents, 'USDT');
  let funded = 0;
  test.after(() => bench.close());

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

  /** Pays a refund, then puts the machine back to when the refund was processing and unsigned. */
  async function payThenPutBack(cents: number, change: () => void = () => {}, half?: 'data' | 'signer') {
    const put = await payThenStop(cents, change, half);
    await quayside.start();
    return put;
  }

  /** The same, and leaves the installation stopped. */
  async function payThenStop(cents: number, change: () => void, half?: 'data' | 'signer') {
    const session = await paidSession(cents);
    const { id, payee } = await refund(session, amount(cents));
    await untilWaiting('token_short');
    const putBack = await bench.snapshot();
    await chain.pay(refundWallet, 'USDT', units(cents));
    if (funded++ === 0) await chain.fund(refundWallet, coins);
    const { transaction_hash: tx } = await completed(id);
    assert.equal(await paidTo(payee), [units(cents)]);
    await quayside.stop();
    putBack(half);
    change();
    // Enough for a second payment.
    await chain.pay(refundWallet, 'USDT', units(cents));
    return { session, id, payee, tx };
  }

  async function isPaidOnce({ id, payee, tx }: Awaited<ReturnType<typeof payThenPutBack>>, cents: number) {
    await reconcileUntil(async () => (await show(id)).status === 'completed');
    assert.is((await show(id)).transaction_hash, tx, 'settled by the transaction that paid it');
    assert.equal(await paidTo(payee), [units(cents)]);
    await reconcileUntil(async () => (await quayside.cli('status')).payouts.frozen.length === 0);
    assert.ok((await quayside.cli('ledger', 'verify')).balanced);
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

  if (hasLanes) {
    test('the same where the database knows neither the wallets nor their numbers yet', async () => {
      const forget = () => {
        const db = openDatabase({ file: databaseFile(quayside.dataDir), busyTimeoutMs: 10_000, bytesMax: null });
        db.client.exec('DELETE FROM lanes; DELETE FROM own_wallets; DELETE FROM outgoing_transfers;');
        db.close();
      };
      await isPaidOnce(await payThenPutBack(1_300, forget), 1_300);
      await paysAnother(1_300);
    });
  }

  if (failNext) {
    const { currency, run } = failNext;
    test('a refund whose transaction failed, and that was paid then, is not paid again; the operator reconciles the failed one', async () => {
      const session = await paidSession(350, currency);
      const { id, payee } = await refund(session, amount(350), currency);
      await untilWaiting('token_short');
      const putBack = await bench.snapshot();
      const fund = () => chain.pay(refundWallet, currency, bench.unitsOf(350, currency));
      await run(fund);
      const { transaction_hash: tx } = await completed(id);
      await quayside.stop();
      putBack();
      await fund();
      await quayside.start();
      await reconcileUntil(async () => (await show(id)).status === 'completed');
      assert.is((await show(id)).transaction_hash, tx, 'settled by the transaction that paid it');
      assert.equal(await paidTo(payee, currency), [bench.unitsOf(350, currency)]);
      const other = await refund(await paidSession(350, currency), amount(350), currency);
      await reconcileUntil(async () => (await show(other.id)).status === 'completed');
      assert.equal(await paidTo(other.payee, currency), [bench.unitsOf(350, currency)]);
      assert.ok((await quayside.cli('ledger', 'verify')).balanced);
    });
  }

  const untilStopped = (code: string) => until(`payouts are stopped: ${code}`, () => waitsFor(code));

  async function paysAnother(cents: number, currency: Currency = 'USDT') {
    const other = await refund(await paidSession(cents, currency), amount(cents), currency);
    await completedInTime(other.id);
    assert.equal(await paidTo(other.payee, currency), [bench.unitsOf(cents, currency)]);
  }

  test('a database that is put back alone pays nothing before it knows what the signer has signed; resolve --paid is enough', async () => {
    const put = await payThenPutBack(500, () => {}, 'data');
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
    const put = await payThenPutBack(600, () => {}, 'signer');
    await untilStopped('signer_journal_behind');
    await isPaidOnce(put, 600);
    await quayside.cli('payout', 'reconcile', bench.network);
    await paysAnother(600);
    await isPaidOnce(put, 600);
  });

  const { faults } = chain;
  if (faults && unreadable) {
    test('blocks that were skipped after the machine was put back are searched when they are read; until then nothing is paid', async () => {
      const put = await payThenStop(800, () => faults.set(unreadable));
      const starting = quayside.start();
      const place = (): Promise<Json> => quayside.cli('show', bench.network);
      await until('the node is found to be unreadable', async () => {
        const { reason, head, cursor } = await place();
        return /^node_/.test(reason?.code ?? '') && head > cursor;
      });
      const { cursor, head } = await place();
      const range = { from: String(cursor + 1), to: String(head) };
      const skip = [
        'network',
        'reread',
        bench.network,
        '--from',
        range.from,
        '--to',
        range.to,
        '--skip',
        '--reason',
        'unreadable',
      ];
      assert.is((await quayside.cli(...skip)).freezes_money_out, true);
      faults.heal();
      await starting;
      await until('only the freeze holds payouts', async () => {
        if (expiry) await passAwaited(expiry.pass);
        return waitsFor('payouts_frozen');
      });
      assert.equal([(await show(put.id)).status, await paidTo(put.payee)], ['processing', [units(800)]]);
      const canceled = await quayside.api('POST', `/api/v1/refunds/${put.id}/cancel`, {});
      assert.equal([canceled.status, canceled.body.error.code], [400, 'CANNOT_CANCEL_REFUND']);
      assert.match(canceled.body.error.message, 'Try again in ten minutes');
      const [{ id: payout }] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === put.id);
      const reject = () =>
        quayside.cli('refund', 'reject', payout, '--reason', 'a test').then(() => 'rejected', String);
      assert.match(await reject(), /may have been paid, so it is not rejected: blocks .* were skipped/);
      const reread = ['network', 'reread', bench.network, '--from', range.from, '--to', range.to, '--reason', 'mended'];
      const { outgoing, closed_gaps: closed } = await quayside.cli(...reread);
      assert.equal([outgoing, closed], [1, 1]);
      await isPaidOnce(put, 800);
      await paysAnother(800);
    });
  }

  if (expiry && faults) {
    test('what was sent and never arrives is ended by resolve --never once it has expired, and not before', async () => {
      const session = await paidSession(400);
      const { id, payee } = await refund(session, '4.00');
      await untilWaiting('token_short');
      faults.set({ rates: { send_dropped: 1 } });
      await chain.pay(refundWallet, 'USDT', units(400));
      await until('it is sent', () => sentBytes() !== undefined);
      await quayside.cli('payout', 'freeze', bench.network, '--reason', 'nothing arrives');
      const [{ id: payout }] = (await quayside.cli('payout', 'list', '--state', 'sent')) as Json[];
      const settle = ['payout', 'resolve', payout, '--never', '--reason', 'nothing arrives'] as const;
      const early = await quayside.cli(...settle).catch((error: unknown) => String(error));
      assert.match(String(early), 'can still be included');
      const retry = ['payout', 'resolve', payout, '--retry', '--reason', 'nothing arrives'] as const;
      const again = await quayside.cli(...retry).catch((error: unknown) => String(error));
      assert.match(String(again), 'can still be included');
      expiry.pass();
      await until('it has expired, and its last block is final and read', () =>
        quayside.cli(...settle).then(
          () => true,
          (error: unknown) => {
            assert.match(String(error), /can still be included|changed meanwhile|may not be known yet/);
            return false;
          },
        ),
      );
      faults.heal();
      assert.is((await show(id)).status, 'failed');
      await quayside.cli('payout', 'thaw', bench.network, '--reason', 'the node is mended');
      // The merchant requests the amount again.
      const next = await refund(session, '4.00');
      await completed(next.id);
      assert.equal([await paidTo(payee), await paidTo(next.payee)], [[], [units(400)]]);
    });
  }

  const { send } = expiry ?? {};
  if (expiry && send && faults) {
    test('what was sent, and is in no block when the machine is put back, is waited for: it is paid once', async () => {
      // The chain has time to be slow until all of this is done.
      expiry.pass();
      const session = await paidSession(700);
      const { id, payee } = await refund(session, '7.00');
      await untilWaiting('token_short');
      const putBack = await bench.snapshot();
      faults.set({ rates: { send_dropped: 1 } });
      await chain.pay(refundWallet, 'USDT', 2n * units(700));
      await until('it is sent', () => sentBytes() !== undefined);
      const sent = sentBytes() as Sent;
      await quayside.stop();
      putBack();
      faults.heal();
      await quayside.start();
      await untilStopped('payouts_settling');
      await untilWaiting('payouts_settling');
      assert.equal(await paidTo(payee), []);
      await send(sent.bytes);
      await reconcileUntil(async () => (await show(id)).status === 'completed');
      assert.is((await show(id)).transaction_hash, sent.tx);
      assert.equal(await paidTo(payee), [units(700)]);
      // What was left would have paid it twice; it pays the next one, once everything has expired.
      const next = await refund(await paidSession(700), '7.00');
      await completedInTime(next.id);
      assert.equal(await paidTo(next.payee), [units(700)]);
      assert.equal(await paidTo(payee), [units(700)]);
    });
  }

  if (pool) {
    test('what the node has received, and no block has when the machine is put back, pays its refund once', async () => {
      const [session, other] = [await paidSession(700), await paidSession(600)];
      const { id, payee } = await refund(session, '7.00');
      await untilWaiting('token_short');
      const putBack = await bench.snapshot();
      await pool.pause();
      await chain.pay(refundWallet, 'USDT', 2n * units(700));
      await pool.mine();
      await until('it is sent', () => sentBytes() !== undefined);
      const sent = sentBytes() as Sent;
      await quayside.stop();
      putBack();
      await pool.hold();
      await quayside.start();
      await until('a pending transaction that is not known here freezes the network', async () =>
        JSON.stringify((await quayside.cli('status')).payouts.frozen).includes('"payout_nonce_foreign"'),
      );
      const next = await refund(other, '6.00');
      assert.equal([await paidTo(payee), (await show(id)).status], [[], 'processing']);
      await pool.resume();
      await isPaidOnce({ session, id, payee, tx: sent.tx }, 700);
      // What was left would have paid it twice; it pays the next one.
      await completed(next.id);
      assert.equal([await paidTo(next.payee), await paidTo(payee)], [[units(600)], [units(700)]]);
    });
  }

  /** Returns the attempt that was sent and is not final. */
  function sentBytes(): Sent | undefined {
    const db = openDatabase({ file: databaseFile(quayside.dataDir), busyTimeoutMs: 10_000, bytesMax: null });
    const query =
      "SELECT a.tx, a.bytes FROM payout_attempts AS a JOIN payouts AS p ON p.id = a.payout_id WHERE p.state = 'sent' AND a.sent_at_ms IS NOT NULL";
    const row = db.client.prepare(query).get();
    db.close();
    return row as Sent | undefined;
  }

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
    const rest = await refund(await paidSession(300), '3.00');
    await completedInTime(rest.id);
    assert.equal(await paidTo(rest.payee), [units(300)]);
  });
}

const amount = (cents: number): string => (cents / 100).toFixed(2);
