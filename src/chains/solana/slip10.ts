/**
 * SLIP-0010 for ed25519, a tree of private keys. Every step is hardened, so nothing can be derived from a public key.
 * Source: https://github.com/satoshilabs/slips/blob/master/slip-0010.md.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from '../../core/fault.ts';

const HARDENED = 0x80000000;
const MASTER_KEY = utf8ToBytes('ed25519 seed');
const KEY_BYTES = 32;

/** A private key and its chain code, 32 bytes each. */
export type Slip10Node = Readonly<{ secret: Uint8Array; chainCode: Uint8Array }>;

const split = (digest: Uint8Array): Slip10Node => ({
  secret: digest.slice(0, KEY_BYTES),
  chainCode: digest.slice(KEY_BYTES),
});

/**
 * Returns the root of a seed's tree.
 * @param seed 16 to 64 bytes
 */
export function masterNode(seed: Uint8Array): Slip10Node {
  invariant(seed.length >= 16 && seed.length <= 64, 'a seed has 16 to 64 bytes');
  return split(hmac(sha512, MASTER_KEY, seed));
}

/**
 * Returns the hardened child of a node.
 * @param index 0 to 2^31 − 1; the hardening bit is added here
 */
export function hardenedChild(node: Slip10Node, index: number): Slip10Node {
  invariant(Number.isInteger(index) && index >= 0 && index < HARDENED, 'a child index is 0 to 2^31 − 1');
  const data = new Uint8Array(1 + KEY_BYTES + 4);
  data.set(node.secret, 1);
  new DataView(data.buffer).setUint32(1 + KEY_BYTES, HARDENED + index);
  return split(hmac(sha512, node.chainCode, data));
}

/** Returns the ed25519 public key of a node, 32 bytes. */
export const publicKeyOf = (node: Slip10Node): Uint8Array => ed25519.getPublicKey(node.secret);
