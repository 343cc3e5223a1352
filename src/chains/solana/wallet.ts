/**
 * Wallets of Solana: links for apps, and an unsigned transaction for a wallet inside the browser (Wallet Standard).
 */
import { base64 } from '@scure/base';
import { invariant } from '../../core/fault.ts';
import { phantomLink, sharedLinks, type Wallets } from '../wallet.ts';
import { solanaAddress } from './address.ts';

const UNITS_MAX = 2n ** 64n - 1n;

export const solanaWallets: Wallets = {
  code: {
    readBy: ['Phantom', 'Solflare'],
    // Trust Wallet has shown a thousand times the amount.
    misreadBy: ['Trust Wallet'],
  },
  ownSettings: ['cluster'],
  links(request) {
    const { network, token, to, pageUrl } = request;
    if (network.wallets.cluster === undefined) return [];
    return [
      // On many phones a tapped `solana:` link opens the wrong app or none. The page in the app's browser needs one
      // more tap, but works.
      { wallet: 'Phantom', opens: 'page', href: phantomLink(pageUrl) },
      ...sharedLinks(request, token.address, solanaAddress.format(to)),
    ];
  },
  /** `transaction` is base64, for the feature `solana:signAndSendTransaction`. */
  async transfer({ network, token, to, units }, from, newest) {
    const chain = network.wallets.cluster;
    const payer = solanaAddress.parse(from);
    const mint = solanaAddress.parse(token.address);
    invariant(mint, `the token address ${token.address} is a valid Solana address`);
    if (chain === undefined || payer === null || payer === to || units > UNITS_MAX) return null;
    // Imported on demand, because it loads the code of the curve.
    const { unsignedPayment } = await import('./payment-transaction.ts');
    const transaction = unsignedPayment({
      payer,
      recipient: to,
      mint,
      units,
      decimals: token.decimals,
      blockhash: newest.hash,
    });
    return { chain, from, transaction: base64.encode(transaction) };
  },
};
