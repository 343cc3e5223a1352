/**
 * The payment that a payer's wallet signs, executed by Solana's own virtual machine and read by our decoder: what was
 * asked for arrives, whether or not the recipient has a token account.
 */

import { base58 } from '@scure/base';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { unsignedPayment } from '../../../src/chains/solana/payment-transaction.ts';
import { tokenAccountOf } from '../../../src/chains/solana/token-account.ts';
import { solanaWire } from '../../../src/chains/solana/wire.ts';
import type { ChainTransfer, Token } from '../../../src/core/transfer.ts';
import { ataOf, openSvmBank, type ShownTransaction, signerOf } from '../../support/svm-bank.ts';

const bank = openSvmBank();
const mint = bank.makeMint('USDT', 6);
const tokens: readonly Token[] = [{ symbol: 'USDT', address: mint, decimals: 6 }];
const payer = signerOf('payer');
bank.fund(payer.address, mint, 10_000_000_000n);
const keyOf = (address: string): string => solanaAddress.parse(address) ?? '';

const payment = (recipient: string, units: bigint, change: object = {}) =>
  unsignedPayment({
    payer: keyOf(payer.address),
    recipient: keyOf(recipient),
    mint: keyOf(mint),
    units,
    decimals: 6,
    blockhash: bank.blockhash(),
    ...change,
  });

function credited(shown: ShownTransaction, recipient: string): ChainTransfer[] {
  const block = { hash: signerOf('block').address, parent: signerOf('parent').address, number: 1000, timeS: 1 };
  const result = {
    blockHeight: 900,
    blockTime: block.timeS,
    blockhash: block.hash,
    parentSlot: 999,
    previousBlockhash: block.parent,
    transactions: [shown],
  };
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', result, id: 1 }));
  const content = { block, kind: 'whole', bytes, context: { host: 'svm' } };
  return solanaWire.decode(content, tokens, (key) => key === keyOf(recipient));
}

test('a recipient without an account gets one and the exact amount', () => {
  const recipient = signerOf('fresh').address;
  const shown = bank.sendUnsigned(payment(recipient, 10_500_000n), [payer]);
  assert.is(shown.meta.err, null);
  const [found, ...others] = credited(shown, recipient);
  assert.equal(
    { currency: found?.currency, units: found?.units, from: found?.from },
    { currency: 'USDT', units: 10_500_000n, from: keyOf(payer.address) },
  );
  assert.is(others.length, 0);
});

test('a recipient with an account is paid into it, once and again', () => {
  const recipient = signerOf('known').address;
  bank.fund(recipient, mint, 7n);
  for (const units of [1n, 25_000_000n]) {
    const shown = bank.sendUnsigned(payment(recipient, units), [payer]);
    assert.is(shown.meta.err, null);
    assert.equal(
      credited(shown, recipient).map((one) => one.units),
      [units],
    );
  }
});

test('nothing moves with other decimals than the mint has, more than the payer has, or an old block', () => {
  const recipient = signerOf('nobody').address;
  const old = bank.blockhash();
  bank.fund(signerOf('time passes').address, mint, 1n);
  for (const refused of [
    payment(recipient, 1n, { decimals: 9 }),
    payment(recipient, 2n ** 64n - 1n),
    payment(recipient, 1n, { blockhash: old }),
  ]) {
    const shown = bank.sendUnsigned(refused, [payer]);
    assert.is.not(shown.meta.err, null);
    assert.equal(credited(shown, recipient), []);
  }
});

test('token accounts have the addresses that the program derives', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (owner) => {
      const own = base58.encode(tokenAccountOf(owner, base58.decode(mint)));
      assert.is(own, ataOf(base58.encode(owner), mint));
    }),
    { numRuns: 50 },
  );
});

test.run();
