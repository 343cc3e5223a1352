/**
 * The keys of our own wallets on TRON.
 */
import type { WalletKeys } from '../spend.ts';
import { collectionXpub, deriveWallet, walletPath } from '../xpub.ts';

/** TRON's number in SLIP-44. */
const COIN = 195;

export const tronWalletKeys: WalletKeys = {
  derive: (seed, wallet) => deriveWallet(seed, COIN, wallet),
  path: (wallet) => walletPath(COIN, wallet),
  xpub: (seed) => collectionXpub(seed, COIN),
};
