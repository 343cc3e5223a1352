/**
 * The seed of all wallets, 64 bytes of BIP-39, in a file encrypted with a passphrase (`sealed-file.ts`). The words of
 * the seed phrase are not stored. They exist only on the operator's paper.
 */
import { HDKey } from '@scure/bip32';
import { mnemonicToSeedSync, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { invariant, permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import { readSealed, type SealedFile, seal } from './sealed-file.ts';

const KIND = 'seed';
const SEED_BYTES = 64;

/** A keystore that was read but not unlocked. */
export type Keystore = Readonly<{
  fingerprint: string;
  /** The seed, which the caller wipes. @throws Fault permanent `passphrase_wrong` */
  unlock(passphrase: Uint8Array): Uint8Array;
}>;

/**
 * Returns the seed of a mnemonic of 12 to 24 English words, without a BIP-39 passphrase. Case and extra spaces do not
 * matter.
 * @returns 64 bytes, which the caller wipes
 * @throws Fault permanent `seed_invalid`, which does not quote the words
 */
export function seedOf(mnemonic: string): Uint8Array {
  const words = mnemonic.trim().toLowerCase().split(/\s+/).join(' ');
  if (validateMnemonic(words, wordlist)) return mnemonicToSeedSync(words);
  throw permanent(
    'seed_invalid',
    'this is not a seed phrase of 12 to 24 English words (BIP-39): check the words and their order',
  );
}

/** Returns the fingerprint of a seed's BIP-32 master key, 8 hex digits. It identifies the seed and reveals nothing. */
export function fingerprintOf(seed: Uint8Array): string {
  const master = HDKey.fromMasterSeed(seed);
  try {
    return master.fingerprint.toString(16).padStart(8, '0');
  } finally {
    master.wipePrivateData();
  }
}

/**
 * Writes a new keystore, mode 0600.
 * @throws Fault permanent `keystore_exists`, `passphrase_weak`
 */
export function createKeystore(file: string, seed: Uint8Array, passphrase: Uint8Array): void {
  invariant(seed.length === SEED_BYTES, 'a seed has 64 bytes');
  if (createSecretFile(file, seal(KIND, fingerprintOf(seed), seed, passphrase))) return;
  throw permanent(
    'keystore_exists',
    `${file} exists already and was not changed; choose another folder, or move the file away`,
  );
}

/** Reads a keystore without unlocking it. @throws Fault permanent: see `readSealed` */
export function readKeystore(file: string): Keystore {
  const sealed = readSealed(file, KIND);
  return { fingerprint: sealed.label, unlock: (passphrase) => unlock(sealed, passphrase) };
}

function unlock(sealed: SealedFile, passphrase: Uint8Array): Uint8Array {
  const seed = sealed.open(passphrase);
  invariant(
    seed.length === SEED_BYTES && fingerprintOf(seed) === sealed.label,
    'an authentic keystore holds the seed of its label',
  );
  return seed;
}
