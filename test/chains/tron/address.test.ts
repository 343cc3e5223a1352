/** TRON addresses: base58check texts and derivation from an xpub. Links are in `wallet.test.ts`. */
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../../src/chains/evm/address.ts';
import { tronAddress } from '../../../src/chains/tron/address.ts';
import { xpubKeysAt } from '../../../src/chains/xpub.ts';

const tronXpubKeys = xpubKeysAt("m/44'/195'/0'/0");

/** Well-known contracts, as text and as the node's hex without the 0x41. */
const known = [
  ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'a614f803b6fd780986a42c78ec9c7f77e6ded13c'],
  ['TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8', '3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe'],
] as const;

test('texts and keys are converted both ways', () => {
  for (const [text, key] of known) {
    assert.is(tronAddress.parse(text), key);
    assert.is(tronAddress.format(key), text);
  }
});

test('text that is not a TRON address is refused', () => {
  const [[text, key]] = known;
  const wrong = [
    text.slice(0, -1),
    `${text}t`,
    text.replace('q', 'Q'),
    text.toLowerCase(),
    `41${key}`,
    `0x${key}`,
    evmAddress.format(key),
    // Bitcoin's first address: base58check with another prefix.
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    // The right alphabet and length, and a wrong checksum.
    `${text.slice(0, -1)}u`,
  ];
  for (const one of wrong) assert.is(tronAddress.parse(one), null, one);
});

/** The seed of BIP-39's words "abandon … about", whose TRON addresses every wallet shows. */
const seed =
  '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4';
const wallet = HDKey.fromMasterSeed(Buffer.from(seed, 'hex'));

test('addresses are those that other wallets derive from the same words', () => {
  const { publicExtendedKey } = wallet.derive("m/44'/195'/0'/0");
  const texts = [0, 1].map((index) => tronAddress.format(tronXpubKeys.derive(publicExtendedKey, index)));
  assert.equal(texts, ['TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH', 'TSeJkUh4Qv67VNFwY8LaAxERygNdy6NQZK']);
});

test.run();
