/**
 * Addresses of Solana: the 32 bytes of an ed25519 public key, shown in base58. There is no checksum, so only the length
 * can be checked.
 *
 * A payer sees the owner's address, never a token account. Wallets find or create the owner's token account themselves.
 * Ed25519 keys have hardened children only (SLIP-0010), so nothing can be derived from a public key. Addresses are
 * derived on the machine with the seed and imported as a signed list. Payment links: Solana Pay,
 * https://docs.solanapay.com/spec.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { invariant } from '../../core/fault.ts';
import { formatUnits } from '../../core/money.ts';
import type { AddressCodec } from '../chain.ts';

/** Decimals of the native coin. */
export const LAMPORT_DECIMALS = 9;

const KEY_BYTES = 32;
/** The sender of tokens that nobody sent (MintTo), and the payee of tokens that nobody received. */
export const NOBODY = '0'.repeat(2 * KEY_BYTES);
/** 32 bytes in base58, where every leading zero byte is a 1. */
const TEXT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

function parse(text: string): string | null {
  if (!TEXT.test(text)) return null;
  const bytes = base58.decode(text);
  return bytes.length === KEY_BYTES ? bytesToHex(bytes) : null;
}

const format = (key: string): string => base58.encode(hexToBytes(key));

export const solanaAddress: AddressCodec = {
  keyBytes: KEY_BYTES,
  parse,
  format,
  checkXpub: null,
  /** The link has no `reference`, because the address identifies the session. */
  deepLink(token, _chainId, key, units) {
    invariant(parse(token.address), `the token address ${token.address} is a valid Solana address`);
    return `solana:${format(key)}?amount=${formatUnits(units, token.decimals)}&spl-token=${token.address}`;
  },
};

const SIGNATURE_BYTES = 64;
/** 64 bytes in base58. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** Returns the text if it is a transaction's id, which is its first signature; otherwise null. */
export const solanaTransactionId = (text: string): string | null =>
  SIGNATURE.test(text) && base58.decode(text).length === SIGNATURE_BYTES ? text : null;
