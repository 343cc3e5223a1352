/**
 * Transaction ids as people paste them: 32 bytes in hex. Some tools put `0x` before them.
 * @module
 */

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

export const tronTransactionId = (text: string): string | null => HASH.exec(text)?.[1]?.toLowerCase() ?? null;
