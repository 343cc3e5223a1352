/**
 * Solana addresses made from a seed, and the signature of a list of them. This runs on the machine with the seed. The
 * server only verifies.
 *
 * Address number i is m/44'/501'/i'/0' (SLIP-0010), which common wallets show as account i. The key of the seed's last
 * account index signs the lists and is never an address. One seed restores both.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { invariant } from '../../core/fault.ts';
import type { OfflineKeys } from '../chain.ts';
import { solanaAddress } from './address.ts';
import { hardenedChild, masterNode, publicKeyOf, type Slip10Node } from './slip10.ts';

const PURPOSE = 44;
const COIN = 501;
const SIGNER_ACCOUNT = 2 ** 31 - 1;

const accountsOf = (seed: Uint8Array): Slip10Node => hardenedChild(hardenedChild(masterNode(seed), PURPOSE), COIN);

const accountNode = (accounts: Slip10Node, index: number): Slip10Node =>
  hardenedChild(hardenedChild(accounts, index), 0);

function verify(signer: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = solanaAddress.parse(signer);
  // A malformed or small-order key or signature is invalid.
  return (
    key !== null && signature.length === 64 && ed25519.verify(signature, message, hexToBytes(key), { zip215: false })
  );
}

export function isSpendable(key: string): boolean {
  try {
    const point = ed25519.Point.fromHex(key);
    point.assertValidity();
    return !point.isSmallOrder();
  } catch {
    // A key off the curve can belong to a program, never to a wallet.
    return false;
  }
}

export const solanaOfflineKeys: OfflineKeys = {
  path: "m/44'/501'/i'/0'",
  derive(seed, from, count) {
    invariant(from >= 0 && from + count <= SIGNER_ACCOUNT, "the last account is the signer's");
    const accounts = accountsOf(seed);
    return Array.from({ length: count }, (_, at) => bytesToHex(publicKeyOf(accountNode(accounts, from + at))));
  },
  sign(seed, message) {
    const node = accountNode(accountsOf(seed), SIGNER_ACCOUNT);
    return {
      signer: solanaAddress.format(bytesToHex(publicKeyOf(node))),
      signature: ed25519.sign(message, node.secret),
    };
  },
  verify,
  isSpendable,
};
