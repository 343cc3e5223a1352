/**
 * The keys of our own wallets on EVM networks.
 */
import type { WalletKeys } from '../spend.ts';
import { collectionXpub, deriveWallet, walletPath } from '../xpub.ts';

/** Ethereum's number in SLIP-44, used for every EVM network. */
const COIN = 60;

export const evmWalletKeys: WalletKeys = {
  derive: (seed, wallet) => deriveWallet(seed, COIN, wallet),
  path: (wallet) => walletPath(COIN, wallet),
  xpub: (seed) => collectionXpub(seed, COIN),
};
