/**
 * The keys of our own wallets on Solana (SLIP-0010).
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import type { Wallet } from '../../core/intent.ts';
import { hotChild, type WalletKeys } from '../spend.ts';
import { lockAddress, lockSeed } from './lock.ts';
import { hardenedChild, masterNode, publicKeyOf } from './slip10.ts';

const PURPOSE = 44;
const COIN = 501;
/** Account index of the first hot wallet, far above any deposit address; the others follow. */
const HOT_ACCOUNT = 2_000_000_000;

const accountIndex = (wallet: Wallet): number =>
  wallet.role === 'collection' ? wallet.index : HOT_ACCOUNT + hotChild(wallet);

export const solanaWalletKeys: WalletKeys = {
  derive(seed, wallet) {
    const coin = hardenedChild(hardenedChild(masterNode(seed), PURPOSE), COIN);
    const node = hardenedChild(hardenedChild(coin, accountIndex(wallet)), 0);
    return { wallet, key: bytesToHex(publicKeyOf(node)), secret: node.secret };
  },
  path: (wallet) => `m/${PURPOSE}'/${COIN}'/${accountIndex(wallet)}'/0'`,
  xpub: () => null,
  refundLock: ({ key, secret }, refundId) => lockAddress(key, lockSeed(secret, refundId)),
};
