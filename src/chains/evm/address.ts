/**
 * Addresses of EVM networks: the last 20 bytes of the Keccak-256 of a public key. One key gives one address on every EVM network.
 *
 * Text form and checksum: EIP-55. Derivation: BIP-32 children of the xpub at `m/44'/60'/0'/0`, the external chain that common
 * wallets use. Payment links: EIP-681.
 * @module
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import { invariant, permanent } from '../../core/fault.ts';
import type { AddressCodec } from '../chain.ts';

const KEY_BYTES = 20;
/** m / 44' / 60' / account' / 0: four steps below the seed. */
const XPUB_DEPTH = 4;
/** An installation has a handful of xpubs; past this the oldest is forgotten and parsed again when asked for. */
const PARSED_XPUBS_MAX = 64;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** EIP-55: a hex letter is upper case where the same place of the hash of the lower-case text holds 8 or more. */
function format(key: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(key)));
  let text = '0x';
  for (let at = 0; at < key.length; at++) {
    text += hash.charAt(at) >= '8' ? key.charAt(at).toUpperCase() : key.charAt(at);
  }
  return text;
}

/** Text in one case carries no checksum and is taken as it is; mixed case must be right. */
function parse(text: string): string | null {
  if (!ADDRESS.test(text)) return null;
  const digits = text.slice(2);
  const key = digits.toLowerCase();
  if (digits === key || digits === digits.toUpperCase()) return key;
  return format(key) === text ? key : null;
}

const parsedXpubs = new Map<string, HDKey>();

/** The parsed key of an xpub. The text itself never stands in a message: it might be a private key pasted by mistake. */
function externalChain(xpub: string): HDKey {
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
      `this xpub stands at depth ${parsed.depth} of its wallet, expected ${XPUB_DEPTH}: export the key at m/44'/60'/0'/0, so that wallets find the addresses again`,
    );
  }
  if (parsedXpubs.size >= PARSED_XPUBS_MAX) {
    const oldest = parsedXpubs.keys().next();
    if (!oldest.done) parsedXpubs.delete(oldest.value);
  }
  parsedXpubs.set(xpub, parsed);
  return parsed;
}

function derive(xpub: string, index: number): string {
  invariant(Number.isInteger(index) && index >= 0 && index < HARDENED_OFFSET, 'an address index is 0 to 2^31 − 1');
  const { publicKey } = externalChain(xpub).deriveChild(index);
  invariant(publicKey, 'a child of an xpub has a public key');
  // The address hashes the two coordinates, 64 bytes, without the leading byte that says "uncompressed".
  const coordinates = secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1);
  return bytesToHex(keccak_256(coordinates).subarray(-KEY_BYTES));
}

export const evmAddress: AddressCodec = {
  keyBytes: KEY_BYTES,
  parse,
  format,
  derive,
  deepLink(token, chainId, key, units) {
    const contract = parse(token.address);
    invariant(contract, `the token address ${token.address} is a valid EVM address`);
    return `ethereum:${format(contract)}@${chainId}/transfer?address=${format(key)}&uint256=${units}`;
  },
};
