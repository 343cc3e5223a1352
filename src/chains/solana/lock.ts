/**
 * The lock of a refund: an account whose address is derived from the refund wallet and the refund's id. The transaction
 * that pays the refund first allocates a byte in it, which the System program does only once. A second transaction for
 * the same refund therefore fails as a whole, even if the first is unknown to us. Anybody can send lamports to the
 * address, but only the refund wallet can allocate data there. An account without data is dust, and stops nothing.
 *
 * Sources: `Pubkey::create_with_seed` and `system_processor.rs` (`allocate`) of Agave.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { SYSTEM } from './programs.ts';

/** `create_with_seed` takes at most 32 characters. */
export const LOCK_SEED_CHARACTERS = 32;
/** Size of a lock's data. */
export const LOCK_BYTES = 1;

/**
 * Returns the seed of a refund's lock, which only the signer can compute before the transaction is public.
 * @param secret private key of the refund wallet
 */
export function lockSeed(secret: Uint8Array, refundId: string): string {
  const key = hmac(sha256, secret, utf8ToBytes('quayside refund lock key v2'));
  return bytesToHex(hmac(sha256, key, utf8ToBytes(refundId))).slice(0, LOCK_SEED_CHARACTERS);
}

/**
 * Returns the address of a refund's lock, as a key.
 * @param wallet key of the refund wallet
 */
export const lockAddress = (wallet: string, seed: string): string =>
  bytesToHex(sha256(concatBytes(hexToBytes(wallet), utf8ToBytes(seed), hexToBytes(SYSTEM))));
