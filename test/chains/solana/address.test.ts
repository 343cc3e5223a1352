/**
 * Solana addresses: the codec, links for wallets, derivation from a seed against the published vectors and a known
 * wallet.
 */
import { readFileSync } from 'node:fs';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { mnemonicToSeedSync } from '@scure/bip39';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { solanaOfflineKeys } from '../../../src/chains/solana/offline-keys.ts';
import { hardenedChild, masterNode, publicKeyOf } from '../../../src/chains/solana/slip10.ts';
import { ataOf } from './svm-bank.ts';

const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const key = (text: string): string => solanaAddress.parse(text) ?? '';
const seed = mnemonicToSeedSync(`${'abandon '.repeat(11)}about`);

test('every key is read back from its text, and texts of another length are no address', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const hex = bytesToHex(bytes);
      assert.is(solanaAddress.parse(solanaAddress.format(hex)), hex);
    }),
  );
  assert.is(solanaAddress.format('0'.repeat(64)), '1'.repeat(32));
  for (const text of ['1'.repeat(31), '1'.repeat(33), `${usdc}1`, usdc.replace('E', '0'), 'z'.repeat(44)]) {
    assert.is(solanaAddress.parse(text), null, text);
  }
});

test('a link is Solana Pay’s: owner, decimal amount, mint, and no reference', () => {
  const token = { symbol: 'USDC', address: usdc, decimals: 6 } as const;
  const owner = 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk';
  const link = (units: bigint) => solanaAddress.deepLink(token, '', key(owner), units, 'https://shop.example/pay/1');
  assert.is(link(10_500_000n), `solana:${owner}?amount=10.5&spl-token=${usdc}`);
  assert.is(link(1n), `solana:${owner}?amount=0.000001&spl-token=${usdc}`);
  assert.is(link(25_000_000n), `solana:${owner}?amount=25&spl-token=${usdc}`);
});

test('SLIP-0010’s own vectors for ed25519', () => {
  const vectors = JSON.parse(readFileSync('test/vectors/slip10-ed25519.json', 'utf8'));
  for (const { path, chain_code, private: secret, public: open } of vectors.nodes) {
    const node = path.reduce(hardenedChild, masterNode(hexToBytes(vectors.seed)));
    assert.equal(
      [bytesToHex(node.chainCode), bytesToHex(node.secret), bytesToHex(publicKeyOf(node))],
      [chain_code, secret, open],
      path.join('/'),
    );
  }
});

test('account 0 of the well-known test phrase is what wallets show', () => {
  const [first] = solanaOfflineKeys.derive(seed, 0, 1);
  assert.is(solanaAddress.format(first ?? ''), 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk');
  assert.equal(solanaOfflineKeys.derive(seed, 3, 2), solanaOfflineKeys.derive(seed, 0, 5).slice(3));
});

test('a signature is right for its message, signer and seed only; the signer is never an address', () => {
  const message = new TextEncoder().encode('a list');
  const { signer, signature } = solanaOfflineKeys.sign(seed, message);
  const { verify } = solanaOfflineKeys;
  assert.ok(verify(signer, message, signature));
  assert.not(verify(signer, new TextEncoder().encode('a lisp'), signature));
  assert.not(verify(usdc, message, signature));
  assert.not(verify(signer, message, signature.slice(1)));
  assert.not(verify('1'.repeat(32), message, signature));
  assert.not(verify('nobody', message, signature));
  assert.throws(() => solanaOfflineKeys.derive(seed, 2 ** 31 - 2, 2), /the last account/);
});

test('keys off the curve and keys that anybody could sign for are not addresses to be paid at', () => {
  const [own = ''] = solanaOfflineKeys.derive(seed, 0, 1);
  assert.ok(solanaOfflineKeys.isSpendable(own));
  // The token account of a wallet is off the curve by construction.
  assert.not(solanaOfflineKeys.isSpendable(key(ataOf(solanaAddress.format(own), usdc))));
  assert.not(solanaOfflineKeys.isSpendable('0'.repeat(64)), 'a point of small order');
  assert.not(solanaOfflineKeys.isSpendable(`01${'0'.repeat(62)}`), 'the neutral point');
  assert.not(solanaOfflineKeys.isSpendable('f'.repeat(64)));
});

test.run();
