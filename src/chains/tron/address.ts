/**
 * Addresses of TRON: the last 20 bytes of the Keccak-256 of a public key, as on EVM networks, shown as base58check of
 * 0x41 and those bytes.
 *
 * Text form: https://developers.tron.network/docs/account. Derivation: BIP-32 children of the xpub at `m/44'/195'/0'/0`
 * (SLIP-44), the external chain that common wallets use.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { createBase58check } from '@scure/base';
import type { AddressCodec } from '../chain.ts';
import { checkXpubText } from '../xpub-text.ts';

/** Decimals of the native coin. */
export const SUN_DECIMALS = 6;

const KEY_BYTES = 20;
/** The first byte of every address, which makes base58 text start with T. */
const PREFIX = 0x41;
const TEXT = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
/** The xpub's derivation path in a wallet. */
export const XPUB_PATH = "m/44'/195'/0'/0";

const base58check = createBase58check(sha256);

function parse(text: string): string | null {
  if (!TEXT.test(text)) return null;
  try {
    const bytes = base58check.decode(text);
    return bytes.length === KEY_BYTES + 1 && bytes[0] === PREFIX ? bytesToHex(bytes.subarray(1)) : null;
  } catch {
    // The checksum is wrong.
    return null;
  }
}

/** Returns the form that java-tron's HTTP interface uses: hex with the prefix. */
export const wireAddress = (key: string): string => `${PREFIX.toString(16)}${key}`;

export const tronAddress: AddressCodec = {
  keyBytes: KEY_BYTES,
  parse,
  format: (key) => base58check.encode(hexToBytes(wireAddress(key))),
  checkXpub: (xpub) => checkXpubText(xpub, XPUB_PATH),
  /**
   * Returns a link that opens the payment page in TronLink's own browser (https://docs.tronlink.org/mobile/deeplink,
   * since 4.10.0). TRON has no payment link that wallets agree on. TronLink's transfer link requires the payer's
   * address, which is not known yet.
   */
  deepLink(_token, _chainId, _key, _units, pageUrl) {
    const param = { url: pageUrl, action: 'open', protocol: 'TronLink', version: '1.0' };
    return `tronlinkoutside://pull.activity?param=${encodeURIComponent(JSON.stringify(param))}`;
  },
};

/** A 20-byte address as java-tron writes it in logs, and with the 0x41 of its long form. */
const KEY = /^[0-9a-f]{40}$/;
const LONG_KEY = /^41[0-9a-f]{40}$/;

/** Returns an address key from any of the spellings that java-tron and gateways use, or null. */
export function readKey(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  if (KEY.test(text)) return text;
  const lower = text.toLowerCase();
  if (KEY.test(lower)) return lower;
  return LONG_KEY.test(lower) ? lower.slice(2) : parse(text);
}

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/** Returns the canonical text of a pasted transaction id; null if it is none. Some tools put `0x` before it. */
export const tronTransactionId = (text: string): string | null => HASH.exec(text)?.[1]?.toLowerCase() ?? null;
