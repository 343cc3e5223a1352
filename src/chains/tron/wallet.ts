/**
 * Wallets of TRON: links for apps, and the TRC-20 call for a wallet inside the browser (TIP-6963, TIP-1193).
 */
import { sharedLinks, type Wallets } from '../wallet.ts';
import { tronAddress } from './address.ts';

/**
 * Limit of the TRX that the payer burns for energy, in sun (100 TRX). A transfer of USDT to a new address costs about a
 * quarter of it.
 */
const FEE_LIMIT_SUN = 100_000_000;

export const tronWallets: Wallets = {
  code: null,
  // TRON's wallets put a `tronWeb` into the page, which calls a node from there. The page's policy must allow it.
  ownSettings: ['node_origins'],
  links(request) {
    const { token, chainId, to, units, pageUrl } = request;
    const tronLink = tronAddress.deepLink(token, chainId, to, units, pageUrl);
    return [
      { wallet: 'TronLink', opens: 'page', href: tronLink },
      ...sharedLinks(request, token.address, tronAddress.format(to)),
    ];
  },
  /** For `transactionBuilder.triggerSmartContract` of the wallet's own tronWeb. */
  async transfer({ token, chainId, to, units }, from) {
    const payer = tronAddress.parse(from);
    if (payer === null || payer === to) return null;
    return {
      chainId: `0x${BigInt(chainId).toString(16)}`,
      contract: token.address,
      from,
      to: tronAddress.format(to),
      units: units.toString(),
      feeLimit: FEE_LIMIT_SUN,
    };
  },
};
