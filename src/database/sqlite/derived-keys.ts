/**
 * Keys derived from the installation's secret key, one for each purpose. Whatever such a key protects names the version
 * of the secret key, or is compared with the keys of all versions, so that the secret key can be replaced.
 * @module
 */
import { createHmac } from 'node:crypto';

/** The version of the secret key that a new installation starts with. */
const FIRST_VERSION = 1;

export type KeyPurpose = 'payer token';

export type DerivedKeys = Readonly<{
  /** The version for everything new. */
  version: number;
  /** All versions that are still valid. */
  versions: readonly number[];
  /** Returns 32 bytes; null for an unknown version. */
  of(purpose: KeyPurpose, version: number): Uint8Array | null;
}>;

export function createDerivedKeys(secretKey: Uint8Array): DerivedKeys {
  const derived = new Map<KeyPurpose, Uint8Array>();
  return {
    version: FIRST_VERSION,
    versions: [FIRST_VERSION],
    of(purpose, version) {
      if (version !== FIRST_VERSION) return null;
      const key = derived.get(purpose) ?? createHmac('sha256', secretKey).update(`quayside ${purpose} v1`).digest();
      derived.set(purpose, key);
      return key;
    },
  };
}
