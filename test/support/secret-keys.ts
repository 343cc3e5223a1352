/**
 * Versions of a secret key that are given, not read from a file.
 *
 * @module
 */
import type { DataKeys } from '../../src/database/sqlite/data-keys.ts';
import { fixedSecretKeys, type SecretKeys } from '../../src/lib/secret-key.ts';

/** Returns the keys as versions 1, 2, and so on. */
export const secretKeysOf = (...keys: readonly Uint8Array[]): SecretKeys =>
  fixedSecretKeys(new Map(keys.map((key, at) => [at + 1, key])));

/** Returns the same as a database has them whose newest version is current. */
export const dataKeysOf = (...keys: readonly Uint8Array[]): DataKeys => ({
  ...secretKeysOf(...keys),
  current: () => keys.length,
});
