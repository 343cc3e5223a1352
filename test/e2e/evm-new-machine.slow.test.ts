/**
 * A backup that is restored on a new machine, the signer's folder included: made before a rotation of the secret key,
 * and after it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import type { Json } from '../support/instance.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';
import { openEvmPayouts } from './evm.ts';

const { shop: bench } = await openEvmPayouts();
const { chain, quayside, refundWallet, paidSession, refund, completed, untilUnlocked, paidTo } = bench;
const units = (cents: number) => bench.unitsOf(cents, 'USDT');

const status = () => quayside.cli('status');

/** Replaces the secret key, for which everything is stopped. */
async function rotateSecretKey(): Promise<void> {
  await quayside.stop();
  const folder = mkdtempSync(join(tmpdir(), 'quayside-rotated-'));
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, 'correct horse battery staple\n', { mode: 0o600 });
  await quayside.cli('secret-key', 'rotate', '--to', folder, '--passphrase-file', passphraseFile);
  rmSync(folder, { recursive: true });
  await quayside.start();
  await untilUnlocked();
}

/** The signer is unlocked after everything else has started. Until its journal is adopted, refunds are refused. */
const adopt = () =>
  until('the signer is adopted', () =>
    quayside.cli('payout', 'reconcile', bench.network, '--reason', 'restored', '--yes').then(
      () => true,
      (error: Error) => {
        assert.match(error.message, 'signer_unreachable');
        return false;
      },
    ),
  );

/** Ends the freezes of a restore, as an operator does who has compared the wallets with the chain. */
async function thaw(): Promise<void> {
  assert.match((await status()).payouts.frozen.map(({ reason }: Json) => reason).join(), 'restored from the backup');
  await quayside.cli('payout', 'thaw', '--reason', 'compared with the chain');
  const words = ['payout', 'reconcile', bench.network, '--reason', 'compared with the chain', '--yes'] as const;
  await until('the network is reconciled', async () => {
    if ((await status()).payouts.frozen.length === 0) return true;
    const said = await quayside.cli(...words).catch(String);
    assert.ok(typeof said !== 'string' || /payouts_settling|"still_frozen":\[\{/.test(said), String(said));
    return false;
  });
}

/**
 * Waits until a refund that was paid before the restore is settled. The network freezes once more when the transfer is
 * final; a refund that was asked for again before that is settled by the reconciliation, a later one by an answer.
 */
async function settle(refundId: string, tx: string): Promise<void> {
  await until(`refund ${refundId} is settled by ${tx}`, async () => {
    const { id, status: state } = (await quayside.cli('refund', 'list')).find(
      (one: Json) => one.refund_id === refundId,
    );
    const isFrozen = (await status()).payouts.frozen.length > 0;
    // The transfer may have frozen the network while an answer settled the refund.
    if (state === 'completed' && !isFrozen) return true;
    const words = isFrozen ? ['payout', 'reconcile', bench.network, '--yes'] : ['payout', 'resolve', id, '--paid', tx];
    // Refused until the transfer is final and read.
    await quayside.cli(...words, '--reason', 'paid before the restore').catch(String);
    return false;
  });
}

/** Pays a refund of a session that is paid, and finds that it arrives once. */
async function paysOn(session: Json, amount: string, cents: number): Promise<void> {
  await chain.pay(refundWallet, 'USDT', units(cents));
  const { id, payee } = await refund(session, amount);
  await completed(id);
  assert.equal(await paidTo(payee), [units(cents)]);
}

test('on a new machine, from a backup and the seed: no address twice, late money is seen, no refund is paid twice', async () => {
  const session = await paidSession(700);
  // A backup takes the signer's part along.
  await untilUnlocked();
  const restoreIt = await bench.backUp();
  // After the backup: another secret key, a refund that is paid, and an address that a customer has.
  await rotateSecretKey();
  await chain.pay(refundWallet, 'USDT', units(700));
  const { id, payee } = await refund(session, '7.00');
  const { transaction_hash: tx } = await completed(id);
  const lost = await bench.shop.newSession(500);
  await quayside.stop();
  await restoreIt();
  await chain.pay(refundWallet, 'USDT', units(700));
  await chain.pay(bench.keyOf(lost), 'USDT', units(500));
  await quayside.start();
  const codes = async () => (await status()).alarms.map(({ code }: { code: string }) => code);
  await until('late money is seen', async () => (await codes()).includes('payment_without_session'));
  const next = await bench.shop.newSession(500);
  assert.is.not(bench.keyOf(next), bench.keyOf(lost));
  await chain.pay(bench.keyOf(next), 'USDT', units(500));
  await bench.shop.waitForStatus(next, 'paid');
  await adopt();
  // The merchant, who finds no such refund, requests it again; money out is frozen by the restore.
  await until('the refund is taken again', async () => {
    const { status: answered, body } = await bench.ask(session, id, '7.00', payee);
    // A server that waits for its engine says so with 503, and is asked again.
    assert.ok([201, 503].includes(answered), JSON.stringify(body));
    return answered === 201;
  });
  await thaw();
  await settle(id, tx);
  assert.is((await completed(id)).transaction_hash, tx);
  assert.equal(await paidTo(payee), [units(700)]);
  await paysOn(next, '5.00', 500);
  await expectBooks(quayside.cli);
});

closeBooks(bench);
