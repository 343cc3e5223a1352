/**
 * Address keys for tests: the n-th key is the same in every thread.
 */
import { createHash } from 'node:crypto';

/** The n-th key of `keyBytes` (at most 32) bytes, as lower-case hex. */
export const addressKeyOf = (n: number, keyBytes: number): string =>
  createHash('sha256')
    .update(`address ${n}`)
    .digest('hex')
    .slice(0, keyBytes * 2);
