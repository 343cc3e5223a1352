import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../../src/chains/evm/address.ts';
import { xpubKeysAt } from '../../../src/chains/xpub.ts';
import { faultIn } from '../../support/refusal.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");

/** The vectors of EIP-55. */
const eip55 = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
];

/** BIP-39: the seed of a mnemonic without a passphrase. */
const mnemonic = 'test test test test test test test test test test test junk';
const wallet = HDKey.fromMasterSeed(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));
const xpub = wallet.derive("m/44'/60'/0'/0").publicExtendedKey;
/** Addresses that anvil, hardhat and every wallet show for that mnemonic. */
const accounts = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
];

test('checksums are those of EIP-55', () => {
  for (const address of eip55) {
    const key = address.slice(2).toLowerCase();
    assert.is(evmAddress.format(key), address);
    assert.is(evmAddress.parse(address), key);
    assert.is(evmAddress.parse(`0x${key}`), key, 'lower case has no checksum');
    assert.is(evmAddress.parse(`0x${key.toUpperCase()}`), key, 'nor does upper case');
  }
});

test('one letter in the wrong case is not an address', () => {
  for (const address of eip55.slice(4)) {
    for (let at = 2; at < address.length; at++) {
      const letter = address.charAt(at);
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      if (other !== letter) assert.is(evmAddress.parse(address.slice(0, at) + other + address.slice(at + 1)), null);
    }
  }
});

test('every key is read back from its text, and junk is null', () => {
  const keys = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('hex'));
  fc.assert(fc.property(keys, (key) => evmAddress.parse(evmAddress.format(key)) === key));
  fc.assert(fc.property(fc.string(), (text) => /^0x[0-9a-fA-F]{40}$/.test(text) || evmAddress.parse(text) === null));
  const [address = ''] = accounts;
  for (const junk of [` ${address}`, `${address}\n`, address.slice(2), address.replace('0x', '0X'), `${address}00`]) {
    assert.is(evmAddress.parse(junk), null, JSON.stringify(junk));
  }
});

test("the addresses of an xpub are those that wallets show at m/44'/60'/0'/0/index", () => {
  accounts.forEach((address, index) => {
    assert.is(evmAddress.format(evmXpubKeys.derive(xpub, index)), address);
  });
});

test('the last index before the hardened ones has an address', () => {
  assert.match(evmXpubKeys.derive(xpub, 2 ** 31 - 1), /^[0-9a-f]{40}$/);
  for (const index of [-1, 0.5, 2 ** 31, Number.NaN]) assert.throws(() => evmXpubKeys.derive(xpub, index), /index/);
});

test('private keys and junk are refused, and never appear in a message', () => {
  const { privateExtendedKey } = wallet.derive("m/44'/60'/0'/0");
  const cutXpub = `${xpub.slice(0, -1)}${xpub.endsWith('1') ? '2' : '1'}`;
  for (const text of [privateExtendedKey, cutXpub, '', 'xpub', 'tpubD6NzVbkrYhZ4', '0x00', ...accounts]) {
    const fault = faultIn(() => evmXpubKeys.derive(text, 0));
    assert.is(fault.kind, 'permanent', text);
    assert.is(fault.code, 'xpub_invalid', text);
    if (text.length > 8) assert.not.ok(fault.message.includes(text.slice(8)), 'the text itself is not in the message');
  }
  assert.match(faultIn(() => evmXpubKeys.derive(privateExtendedKey, 0)).message, 'PRIVATE');
});

test('an xpub from another depth is refused: wallets would not find its addresses again', () => {
  for (const path of ['m', "m/44'/60'/0'", "m/44'/60'/0'/0/0"]) {
    const fault = faultIn(() => evmXpubKeys.derive(wallet.derive(path).publicExtendedKey, 0));
    assert.is(fault.code, 'xpub_invalid');
    assert.match(fault.message, "m/44'/60'/0'/0");
  }
});

test('payment links are those of EIP-681, with exact units', () => {
  const usdt = { symbol: 'USDT', address: '0xdac17f958d2ee523a2206206994597c13d831ec7', decimals: 6 } as const;
  const pageUrl = 'https://shop.example/pay/cs_1';
  const key = (accounts[1] ?? '').slice(2).toLowerCase();
  assert.is(
    evmAddress.deepLink(usdt, '1', key, 10_500_000n, pageUrl),
    `ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=${accounts[1]}&uint256=10500000`,
  );
  assert.match(evmAddress.deepLink(usdt, '56', key, 10n ** 24n, pageUrl), /@56\/.*uint256=1000000000000000000000000$/);
});

test.run();
