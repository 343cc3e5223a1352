/**
 * Transaction hashes as people paste them: 32 bytes in hex, with or without `0x`.
 * @module
 */

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

export function evmTransactionId(text: string): string | null {
  const digits = HASH.exec(text)?.[1];
  return digits ? `0x${digits.toLowerCase()}` : null;
}
