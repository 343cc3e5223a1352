/**
 * Refunds and sweeps as the signer makes them, executed by Solana's own virtual machine with the real token program:
 * the lock that lets a refund happen once whatever anybody believes, and sweeps that empty several owners for one fee
 * payer.
 */
import { pbkdf2Sync } from 'node:crypto';
import { PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { lockAddress, lockSeed } from '../../../src/chains/solana/lock.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import type { SpendNetwork } from '../../../src/chains/spend.ts';
import { type Intent, isPayback, type RefundIntent, type SweepIntent } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';
import { refundIntent } from '../../support/intents.ts';
import { ataOf, openSvmBank, type Signer, signerOf } from './svm-bank.ts';

const seed = new Uint8Array(pbkdf2Sync('money out', 'mnemonic', 2048, 64, 'sha512'));
const bank = openSvmBank();
const mint = bank.makeMint('USDT', 6);
const treasury = signerOf('treasury').address;
const keyOf = (address: string): string => solanaAddress.parse(address) ?? '';

const network: SpendNetwork = {
  chainId: 'svm',
  tokens: [{ symbol: 'USDT', address: mint, decimals: 6 }],
  treasury: keyOf(treasury),
  feeUnitsMax: 10_000_000n,
};

const keysOf = (intent: Intent) => solanaSpending.signers(intent).map((wallet) => solanaSpending.derive(seed, wallet));
const addressOf = (wallet: Parameters<typeof solanaSpending.derive>[1]): string =>
  solanaAddress.format(solanaSpending.derive(seed, wallet).key);
const refundWallet = addressOf({ role: 'refund' });
const gasWallet = addressOf({ role: 'gas' });

const terms = (intent: Intent): Terms => ({
  blockhash: bank.blockhash(),
  last_valid_block_height: '150',
  compute_unit_limit: '100000',
  compute_unit_price: '0',
  ...(isPayback(intent) && { lock_deposit_lamports: bank.rent(1).toString() }),
});

const refund = (id: string, to: string, units: bigint): RefundIntent =>
  refundIntent({ id, network: 'live:solana', to: keyOf(to), units });

/** Signs now, as the signer does, and executes the same message. */
function pay(intent: Intent) {
  const keys = keysOf(intent);
  const { bytes, tx } = solanaSpending.sign({ network, intent, terms: terms(intent) }, keys);
  const signers: Signer[] = keys.map(({ key, secret }) => ({ address: solanaAddress.format(key), secret }));
  const shown = bank.sendUnsigned(bytes, signers);
  assert.is(shown.transaction.signatures[0], tx, 'the machine executed what was signed');
  return shown.meta;
}

const held = (owner: string): bigint => bank.balance(ataOf(owner, mint));

test('a refund reaches a payer with or without a token account, in full', () => {
  bank.fund(refundWallet, mint, 100_000_000n);
  const fresh = signerOf('fresh payer').address;
  assert.is(pay(refund('rf_a', fresh, 4_500_000n)).err, null);
  assert.is(held(fresh), 4_500_000n);
  assert.is(pay(refund('rf_b', fresh, 1n)).err, null);
  assert.is(held(fresh), 4_500_001n);
  assert.is(held(refundWallet), 95_499_999n);
});

test('a second transaction for the same refund moves nothing, whatever its block and payee', () => {
  const payer = signerOf('payer').address;
  const other = signerOf('another payer').address;
  assert.is(pay(refund('rf_once', payer, 2_000_000n)).err, null);
  for (const again of [refund('rf_once', payer, 2_000_000n), refund('rf_once', other, 5n)]) {
    assert.is.not(pay(again).err, null);
  }
  assert.equal([held(payer), held(other)], [2_000_000n, 0n]);
  assert.is(
    pay(refund('rf_twice', payer, 2_000_000n)).err,
    null,
    'another refund of the same amount is another refund',
  );
  assert.is(held(payer), 4_000_000n);
});

test('lamports that somebody sent to the lock stop nothing, before or between attempts, and it still locks', () => {
  const payer = signerOf('griefed payer').address;
  const intent = refund('rf_griefed', payer, 3_000_000n);
  const wallet = solanaSpending.derive(seed, { role: 'refund' });
  const lock = solanaAddress.format(lockAddress(wallet.key, lockSeed(wallet.secret, intent.id)));
  bank.giveCoins(lock, bank.rent(0));
  assert.is(pay(intent).err, null);
  assert.is(held(payer), 3_000_000n);
  assert.is(bank.lamportsOf(lock), bank.rent(0) + bank.rent(1));
  bank.giveCoins(lock, 1_000_000_000n);
  assert.is.not(pay(intent).err, null);
  assert.is(held(payer), 3_000_000n);
});

test('only the refund wallet can allocate data in a lock, even for somebody who knows its seed', () => {
  const { secret, key } = solanaSpending.derive(seed, { role: 'refund' });
  const text = lockSeed(secret, 'rf_free');
  const lock = solanaAddress.format(lockAddress(key, text));
  const griefer = signerOf('griefer');
  for (const address of [lock, griefer.address]) bank.giveCoins(address, 1_000_000_000n);
  const system = SystemProgram.programId;
  const { data } = SystemProgram.allocate({
    accountPubkey: new PublicKey(lock),
    basePubkey: new PublicKey(refundWallet),
    seed: text,
    space: 1,
    programId: system,
  });
  const allocate = (isSigner: boolean) =>
    new TransactionInstruction({
      programId: system,
      keys: [
        { pubkey: new PublicKey(lock), isSigner: false, isWritable: true },
        { pubkey: new PublicKey(refundWallet), isSigner, isWritable: false },
      ],
      data,
    });
  const err = (signer: Signer, isSigner: boolean) => bank.run([griefer, signer], [allocate(isSigner)]).meta.err;
  assert.is.not(err(griefer, false), null);
  assert.is(err({ address: refundWallet, secret }, true), null, 'the same instruction with its signature');
});

test('a refund that fails leaves no lock: it can be paid later', () => {
  const payer = signerOf('patient payer').address;
  const all = held(refundWallet);
  assert.is.not(pay(refund('rf_short', payer, all + 1n)).err, null);
  bank.fund(refundWallet, mint, 1n);
  assert.is(pay(refund('rf_short', payer, all + 1n)).err, null);
  assert.is(held(payer), all + 1n);
});

test('a sweep empties six owners, and the gas wallet alone pays', () => {
  bank.fund(gasWallet, mint, 1n);
  bank.fund(treasury, mint, 1n);
  const owners = [10, 11, 12, 13, 14, 15];
  for (const index of owners) bank.fund(addressOf({ role: 'collection', index }), mint, BigInt(index) * 1_000_000n);
  const from = owners.map((index) => ({ index, units: BigInt(index) * 1_000_000n }));
  const sweep: SweepIntent = { kind: 'sweep', id: 'sw_a', network: 'live:solana', currency: 'USDT', from };
  const coins = () => owners.map((index) => bank.lamportsOf(addressOf({ role: 'collection', index })));
  const [before, gasBefore] = [coins(), bank.lamportsOf(gasWallet)];
  assert.is(pay(sweep).err, null);
  assert.equal(coins(), before);
  assert.is(bank.lamportsOf(gasWallet), gasBefore - 7n * 5_000n);
  assert.is(held(treasury), 75_000_001n);
  for (const index of owners) assert.is(held(addressOf({ role: 'collection', index })), 0n);
  assert.is.not(pay({ ...sweep, id: 'sw_b' }).err, null, 'there is nothing left to sweep');
});

test.run();
