/**
 * Computes the address at which the Associated Token Account program keeps an owner's tokens of one mint. It has no
 * private key.
 *
 * Source: https://solana.com/docs/core/pda and https://github.com/solana-program/associated-token-account.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { invariant } from '../../core/fault.ts';

export const TOKEN_PROGRAM = base58.decode('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_ACCOUNT_PROGRAM = base58.decode('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const BUMP_MAX = 255;
const MARKER = utf8ToBytes('ProgramDerivedAddress');

/** Returns the account of the classic token program. All three are public keys of 32 bytes. */
export function tokenAccountOf(owner: Uint8Array, mint: Uint8Array): Uint8Array {
  for (let bump = BUMP_MAX; bump >= 0; bump--) {
    const seeds = concatBytes(owner, TOKEN_PROGRAM, mint, Uint8Array.of(bump));
    const hash = sha256(concatBytes(seeds, TOKEN_ACCOUNT_PROGRAM, MARKER));
    if (!isOnCurve(hash)) return hash;
  }
  invariant(false, 'one bump in 256 leaves the curve');
}

/**
 * Returns the address of `tokenAccountOf` in base58.
 * @param owner key, hex
 * @param mint base58
 */
export const tokenAddress = (owner: string, mint: string): string =>
  base58.encode(tokenAccountOf(hexToBytes(owner), base58.decode(mint)));

/** Checks like the runtime, which accepts encodings that RFC 8032 does not (ZIP-215). */
function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes, true);
    return true;
  } catch {
    return false;
  }
}
