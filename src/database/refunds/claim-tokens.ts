/**
 * The tokens in claim links: 128 bits that only the holder of the secret key can make from a refund's id. The database
 * has their hashes.
 */
import { createHash, createHmac } from 'node:crypto';

const HEX_DIGITS = 32;

export type ClaimTokens = Readonly<{
  /** Returns the hash of a new link's token. */
  newHash(id: string): string;
  hashOf(token: string): string;
  /** Returns the token that has a hash; null if another key made it. */
  find(id: string, hash: string): string | null;
}>;

export function createClaimTokens(secretKey: Uint8Array): ClaimTokens {
  const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
  const tokenOf = (id: string): string =>
    createHmac('sha256', secretKey).update(`quayside refund claim v1 ${id}`).digest('hex').slice(0, HEX_DIGITS);

  return {
    hashOf,
    newHash: (id) => hashOf(tokenOf(id)),
    find: (id, hash) => (hashOf(tokenOf(id)) === hash ? tokenOf(id) : null),
  };
}
