/**
 * The tokens in claim links: 128 bits that only the holder of the secret key can make from a refund's id. The database
 * has their hashes, so a link works whatever the version of the key that made it; to show a link again, that version
 * must be known.
 * @module
 */
import { createHash, createHmac } from 'node:crypto';
import { permanent } from '../../../core/fault.ts';
import type { DataKeys } from '../data-keys.ts';

const HEX_DIGITS = 32;

export type ClaimTokens = Readonly<{
  /** Returns the hash of a new link's token. */
  newHash(id: string): string;
  hashOf(token: string): string;
  /** Returns the token that has a hash, with the version that makes it; null if that version is not known any more. */
  find(id: string, hash: string): Readonly<{ token: string; version: number }> | null;
}>;

export function createClaimTokens(keys: DataKeys): ClaimTokens {
  const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

  function tokenOf(id: string, version: number): string | null {
    const key = keys.find(version);
    if (!key) return null;
    return createHmac('sha256', key).update(`quayside refund claim v1 ${id}`).digest('hex').slice(0, HEX_DIGITS);
  }

  return {
    hashOf,
    newHash(id) {
      const token = tokenOf(id, keys.current());
      if (token !== null) return hashOf(token);
      throw permanent('secret_key_wrong', `Version ${keys.current()} of the secret key is missing; restore it.`);
    },
    find(id, hash) {
      const found = keys.versions().flatMap((version) => {
        const token = tokenOf(id, version);
        return token !== null && hashOf(token) === hash ? [{ token, version }] : [];
      });
      return found[0] ?? null;
    },
  };
}
