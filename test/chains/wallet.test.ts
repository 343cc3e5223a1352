/**
 * Links to wallets' apps, letter by letter in the formats that the wallets document, and what wallets inside a browser
 * are asked to send.
 */
import { base64 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { unsignedPayment } from '../../src/chains/solana/payment-transaction.ts';
import type { WalletRequest } from '../../src/chains/wallet.ts';
import { preset } from '../support/preset.ts';

const pageUrl = 'https://pay.shop.example/pay/cs_1?pay=x-USDT';
const inPhantom =
  'https://phantom.app/ul/browse/https%3A%2F%2Fpay.shop.example%2Fpay%2Fcs_1%3Fpay%3Dx-USDT?ref=https%3A%2F%2Fpay.shop.example';
const inOkx =
  'https://web3.okx.com/download?deeplink=okx%3A%2F%2Fwallet%2Fdapp%2Furl%3FdappUrl%3Dhttps%253A%252F%252Fpay.shop.example%252Fpay%252Fcs_1%253Fpay%253Dx-USDT';

/** A shipped network's entry about wallets. */
const on = (name: string) => {
  const network = preset(name);
  return { network, chainId: network.chainId };
};
const evm = (name: string, token: string, decimals: number, units: bigint): WalletRequest => ({
  ...on(name),
  token: { symbol: 'USDT', address: token, decimals },
  to: '5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
  units,
  pageUrl,
});
const recipient = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const usdt = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const bscUsdt = '0x55d398326f99059fF775485246999027B3197955';

const tron = (name: string): WalletRequest => ({
  ...on(name),
  token: { symbol: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 },
  to: chains.tron.address.parse('TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC') ?? '',
  units: 10_500_000n,
  pageUrl,
});
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const owner = 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk';
const payer = 'FnVH4h1QFLrHZBbxAFKRgVTjUb1wAmzWvjTRyJnBbFc8';
const solana = (name: string): WalletRequest => ({
  ...on(name),
  token: { symbol: 'USDC', address: mint, decimals: 6 },
  to: chains.solana.address.parse(owner) ?? '',
  units: 10_500_000n,
  pageUrl,
});

const links = (family: 'evm' | 'tron' | 'solana', request: WalletRequest) =>
  chains[family].wallets.links(request).map(({ wallet, opens, href }) => [wallet, opens, href]);

test('on Ethereum', () => {
  assert.equal(links('evm', evm('ethereum', usdt.toLowerCase(), 6, 10_500_000n)), [
    ['MetaMask', 'transfer', `https://link.metamask.io/send/${usdt}@1/transfer?address=${recipient}&uint256=10500000`],
    [
      'Trust Wallet',
      'transfer',
      `https://link.trustwallet.com/send?asset=c60_t${usdt}&address=${recipient}&amount=10.5&memo=`,
    ],
    ['OKX Wallet', 'page', inOkx],
  ]);
});

test('on BSC, with 18 decimals', () => {
  assert.equal(links('evm', evm('bsc', bscUsdt, 18, 10_500_000_000_000_000_001n)).slice(0, 2), [
    [
      'MetaMask',
      'transfer',
      `https://link.metamask.io/send/${bscUsdt}@56/transfer?address=${recipient}&uint256=10500000000000000001`,
    ],
    [
      'Trust Wallet',
      'transfer',
      `https://link.trustwallet.com/send?asset=c20000714_t${bscUsdt}&address=${recipient}&amount=10.500000000000000001&memo=`,
    ],
  ]);
});

test('on TRON', () => {
  const param = encodeURIComponent(
    JSON.stringify({ url: pageUrl, action: 'open', protocol: 'TronLink', version: '1.0' }),
  );
  assert.equal(links('tron', tron('tron')), [
    ['TronLink', 'page', `tronlinkoutside://pull.activity?param=${param}`],
    [
      'Trust Wallet',
      'transfer',
      'https://link.trustwallet.com/send?asset=c195_tTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t&address=TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC&amount=10.5&memo=',
    ],
    ['OKX Wallet', 'page', inOkx],
  ]);
});

test('on Solana', () => {
  assert.equal(links('solana', solana('solana')), [
    ['Phantom', 'page', inPhantom],
    [
      'Trust Wallet',
      'transfer',
      `https://link.trustwallet.com/send?asset=c501_t${mint}&address=${owner}&amount=10.5&memo=`,
    ],
    ['OKX Wallet', 'page', inOkx],
  ]);
});

test('on test networks only wallets that know them', () => {
  const wallets = (family: 'evm' | 'tron' | 'solana', request: WalletRequest) =>
    links(family, request).map(([wallet]) => wallet);
  assert.equal(wallets('evm', evm('sepolia', usdt, 6, 1n)), ['MetaMask']);
  assert.equal(wallets('evm', evm('bsc-testnet', bscUsdt, 18, 1n)), ['MetaMask']);
  assert.equal(wallets('tron', tron('tron-nile')), ['TronLink']);
  assert.equal(wallets('solana', solana('solana-devnet')), ['Phantom']);
  assert.equal(wallets('solana', solana('sandbox-solana')), [], 'a cluster that no wallet knows');
});

// ── What a wallet inside the browser sends ───────────────────────────────────────────────────────────────────────────

const newest = { hash: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY' };

test('the transaction on Solana', async () => {
  const { solana: family } = chains;
  const asked = (await family.wallets.transfer(solana('solana'), payer, newest)) as { transaction: string };
  const key = (text: string) => family.address.parse(text) ?? '';
  assert.equal(asked, {
    chain: 'solana:mainnet',
    from: payer,
    transaction: base64.encode(
      unsignedPayment({
        payer: key(payer),
        recipient: key(owner),
        mint: key(mint),
        units: 10_500_000n,
        decimals: 6,
        blockhash: newest.hash,
      }),
    ),
  });
});

test('nothing is sent from an invalid address, from the recipient itself, or on a cluster without a name', async () => {
  for (const from of ['', '0x1', recipient, owner, 'T', '"><script>']) {
    assert.is(await chains.tron.wallets.transfer(tron('tron'), from, newest), null, from);
    if (from !== owner) assert.is(await chains.solana.wallets.transfer(solana('solana'), from, newest), null, from);
    if (from !== recipient)
      assert.is(await chains.evm.wallets.transfer(evm('ethereum', usdt, 6, 1n), from, newest), null, from);
  }
  assert.is(await chains.evm.wallets.transfer(evm('ethereum', usdt, 6, 1n), recipient, newest), null);
  assert.is(await chains.solana.wallets.transfer(solana('solana'), owner, newest), null);
  assert.is(await chains.solana.wallets.transfer(solana('sandbox-solana'), payer, newest), null);
});

test.run();
