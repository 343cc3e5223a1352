/**
 * Addresses of EVM networks: the last 20 bytes of the Keccak-256 of a public key. One key gives one address on every
 * EVM network.
 *
 * Text form and checksum: EIP-55. Derivation: BIP-32 children of the xpub at `m/44'/60'/0'/0`, the external chain that
 * common wallets use. Payment links: EIP-681.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from '../../core/fault.ts';
import type { AddressCodec } from '../chain.ts';
import { checkXpubText } from '../xpub-text.ts';

/** Decimals of the native coin. */
export const WEI_DECIMALS = 18;

const KEY_BYTES = 20;
/** The xpub's derivation path in a wallet. */
export const XPUB_PATH = "m/44'/60'/0'/0";

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** Addresses with their checksum, newest last. One view of a session formats the same few a dozen times. */
const formatted = new Map<string, string>();
const FORMATTED_MAX = 1_000;

function format(key: string): string {
  const known = formatted.get(key);
  if (known !== undefined) return known;
  const text = withChecksum(key);
  const [oldest] = formatted.size < FORMATTED_MAX ? [] : formatted.keys();
  if (oldest !== undefined) formatted.delete(oldest);
  formatted.set(key, text);
  return text;
}

/**
 * EIP-55: a hex letter is upper case if the digit at the same position of the hash of the lower-case text is 8 or more.
 */
function withChecksum(key: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(key)));
  let text = '0x';
  for (let at = 0; at < key.length; at++) {
    text += hash.charAt(at) >= '8' ? key.charAt(at).toUpperCase() : key.charAt(at);
  }
  return text;
}

/** Accepts text in a single case, which has no checksum. The checksum of mixed case must match. */
function parse(text: string): string | null {
  if (!ADDRESS.test(text)) return null;
  const digits = text.slice(2);
  const key = digits.toLowerCase();
  if (digits === key || digits === digits.toUpperCase()) return key;
  return format(key) === text ? key : null;
}

export const evmAddress: AddressCodec = {
  keyBytes: KEY_BYTES,
  parse,
  format,
  checkXpub: (xpub) => checkXpubText(xpub, XPUB_PATH),
  deepLink(token, chainId, key, units) {
    const contract = parse(token.address);
    invariant(contract, `the token address ${token.address} is a valid EVM address`);
    return `ethereum:${format(contract)}@${chainId}/transfer?address=${format(key)}&uint256=${units}`;
  },
};

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/** Returns the canonical text of a transaction's hash, pasted with or without `0x`; null if it is none. */
export function evmTransactionId(text: string): string | null {
  const digits = HASH.exec(text)?.[1];
  return digits ? `0x${digits.toLowerCase()}` : null;
}
