/**
 * Wallets of TRON: links for apps, and the TRC-20 call for a wallet inside the browser (TIP-6963, TIP-1193).
 * @module
 */
import { formatUnits } from '../../core/money.ts';
import { okxLink, trustLink, type Wallets } from '../wallet.ts';
import { tronAddress } from './address.ts';

const MAINNET = '728126428';
/** SLIP-44, which Trust Wallet's asset ids use. */
const TRUST_COIN = 195;
/**
 * The most that the payer may burn for energy, in sun (100 TRX). A transfer of USDT to a new address costs about a
 * quarter of it.
 */
const FEE_LIMIT_SUN = 100_000_000;

/**
 * Wallets here put a `tronWeb` into the page, which calls a node from there; the page's policy must allow that. By
 * chain id: https://developers.tron.network/docs/networks
 */
const nodes: Readonly<Record<string, readonly string[]>> = {
  [MAINNET]: ['https://api.trongrid.io'],
  '3448148188': ['https://nile.trongrid.io', 'https://api.nileex.io'],
  '2494104990': ['https://api.shasta.trongrid.io'],
};

export const tronWallets: Wallets = {
  code: null,
  nodeOrigins: (chainId) => nodes[chainId] ?? [],
  links({ token, chainId, to, units, pageUrl }) {
    const tronLink = tronAddress.deepLink(token, chainId, to, units, pageUrl);
    const amount = formatUnits(units, token.decimals);
    return [
      { wallet: 'TronLink', opens: 'page', href: tronLink },
      ...(chainId === MAINNET
        ? [
            {
              wallet: 'Trust Wallet',
              opens: 'transfer' as const,
              href: trustLink(TRUST_COIN, token.address, tronAddress.format(to), amount),
            },
            { wallet: 'OKX Wallet', opens: 'page' as const, href: okxLink(pageUrl) },
          ]
        : []),
    ];
  },
  /** For `transactionBuilder.triggerSmartContract` of the wallet's own tronWeb. */
  transfer({ token, chainId, to, units }, from) {
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
