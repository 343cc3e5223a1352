/** Identifiers from a seed: the same seed makes the same world. */
import { createHash } from 'node:crypto';

/** Returns the SHA-256 of the parts, as 64 hex digits. Parts are framed, so that ('ab', 'c') and ('a', 'bc') differ. */
export const digest = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
