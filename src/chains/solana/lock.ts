/**
 * The lock of a refund: an account whose address is derived from the refund wallet and the refund's id. The transaction
 * that pays the refund creates it first, so a second one for the same refund fails as a whole, whatever is known about
 * the first. Source: `Pubkey::create_with_seed` of the Solana SDK.
 *
 * @module
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

const SYSTEM_PROGRAM = new Uint8Array(32);

/** `create_with_seed` takes at most 32 characters. */
export const LOCK_SEED_CHARACTERS = 32;

/** Returns the seed of a refund's lock. It reveals nothing about the refund except that it is the same one. */
export const lockSeed = (refundId: string): string =>
  bytesToHex(sha256(utf8ToBytes(`quayside refund lock v1 ${refundId}`))).slice(0, LOCK_SEED_CHARACTERS);

/**
 * Returns the address of a refund's lock, as a key.
 * @param wallet key of the refund wallet
 */
export const lockAddress = (wallet: string, seed: string): string =>
  bytesToHex(sha256(concatBytes(hexToBytes(wallet), utf8ToBytes(seed), SYSTEM_PROGRAM)));
