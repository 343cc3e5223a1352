/**
 * Receiving keys of secp256k1 chains: children of an account's extended public key (BIP-32), at the external chain of BIP-44 that common
 * wallets use. EVM networks and TRON make their addresses from the same 20 bytes of such a key.
 * @module
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import { invariant, permanent } from '../core/fault.ts';

/** m / 44' / coin' / account' / 0: four steps below the seed. */
const XPUB_DEPTH = 4;
/** An installation has a handful of xpubs; past this the oldest is forgotten and parsed again when asked for. */
const PARSED_XPUBS_MAX = 64;
const ACCOUNT_BYTES = 20;

const parsedXpubs = new Map<string, HDKey>();

/** The parsed key of an xpub. The text itself never stands in a message: it might be a private key pasted by mistake. */
function externalChain(xpub: string, path: string): HDKey {
  const known = parsedXpubs.get(xpub);
  if (known) return known;
  if (/^[a-z]prv/i.test(xpub)) {
    throw permanent(
      'xpub_invalid',
      'this is an extended PRIVATE key; Quayside only takes the public one (xpub…). Treat the private key as exposed: it stood in a settings file',
    );
  }
  let parsed: HDKey;
  try {
    parsed = HDKey.fromExtendedKey(xpub);
  } catch (error) {
    throw permanent(
      'xpub_invalid',
      `not an extended public key: expected base58 text that starts with "xpub" (${error instanceof Error ? error.message : 'unreadable'})`,
    );
  }
  if (parsed.depth !== XPUB_DEPTH) {
    throw permanent(
      'xpub_invalid',
      `this xpub stands at depth ${parsed.depth} of its wallet, expected ${XPUB_DEPTH}: export the key at ${path}, so that wallets find the addresses again`,
    );
  }
  if (parsedXpubs.size >= PARSED_XPUBS_MAX) {
    const oldest = parsedXpubs.keys().next();
    if (!oldest.done) parsedXpubs.delete(oldest.value);
  }
  parsedXpubs.set(xpub, parsed);
  return parsed;
}

/**
 * The last 20 bytes of the Keccak-256 of the child key `xpub/index`, as lower-case hex.
 * @param path where the family's xpub stands in a wallet, for the message
 * @throws Fault permanent `xpub_invalid`
 */
export function deriveAccount(xpub: string, index: number, path: string): string {
  invariant(Number.isInteger(index) && index >= 0 && index < HARDENED_OFFSET, 'an address index is 0 to 2^31 − 1');
  const { publicKey } = externalChain(xpub, path).deriveChild(index);
  invariant(publicKey, 'a child of an xpub has a public key');
  // The address hashes the two coordinates, 64 bytes, without the leading byte that says "uncompressed".
  const coordinates = secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1);
  return bytesToHex(keccak_256(coordinates).subarray(-ACCOUNT_BYTES));
}
