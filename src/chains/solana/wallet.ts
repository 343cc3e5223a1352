/**
 * Wallets of Solana: links for apps, and an unsigned transaction for a wallet inside the browser (Wallet Standard).
 * @module
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { base58, base64 } from '@scure/base';
import { invariant } from '../../core/fault.ts';
import { formatUnits } from '../../core/money.ts';
import { okxLink, phantomLink, trustLink, type Wallets } from '../wallet.ts';
import { solanaAddress } from './address.ts';
import { unsignedPayment } from './payment-transaction.ts';

const MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
/** The Wallet Standard's names of the clusters, by genesis hash: https://github.com/anza-xyz/wallet-standard. */
const clusters: Readonly<Record<string, string>> = {
  [MAINNET]: 'solana:mainnet',
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: 'solana:devnet',
  '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY': 'solana:testnet',
};
/** SLIP-44, which Trust Wallet's asset ids use. */
const TRUST_COIN = 501;
const UNITS_MAX = 2n ** 64n - 1n;

export const solanaWallets: Wallets = {
  code: {
    readBy: ['Phantom', 'Solflare'],
    // Trust Wallet has shown a thousand times the amount.
    misreadBy: ['Trust Wallet'],
  },
  nodeOrigins: () => [],
  links({ token, chainId, to, units, pageUrl }) {
    if (clusters[chainId] === undefined) return [];
    const amount = formatUnits(units, token.decimals);
    return [
      // On many phones a tapped `solana:` link opens the wrong app or none; the page in the app's browser needs one
      // more tap and works.
      { wallet: 'Phantom', opens: 'page', href: phantomLink(pageUrl) },
      ...(chainId === MAINNET
        ? [
            {
              wallet: 'Trust Wallet',
              opens: 'transfer' as const,
              href: trustLink(TRUST_COIN, token.address, solanaAddress.format(to), amount),
            },
            { wallet: 'OKX Wallet', opens: 'page' as const, href: okxLink(pageUrl) },
          ]
        : []),
    ];
  },
  /** `transaction` is base64, for the feature `solana:signAndSendTransaction`. */
  transfer({ token, chainId, to, units }, from, newest) {
    const chain = clusters[chainId];
    const payer = solanaAddress.parse(from);
    const mint = solanaAddress.parse(token.address);
    invariant(mint, `the token address ${token.address} is a valid Solana address`);
    if (chain === undefined || payer === null || payer === to || units > UNITS_MAX) return null;
    const transaction = unsignedPayment({
      payer: hexToBytes(payer),
      recipient: hexToBytes(to),
      mint: hexToBytes(mint),
      units,
      decimals: token.decimals,
      blockhash: base58.decode(newest.hash),
    });
    return { chain, from, transaction: base64.encode(transaction) };
  },
};
