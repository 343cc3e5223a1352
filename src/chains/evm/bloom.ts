/**
 * The logs bloom of a block header: 2048 bits, three of them set for each address and each topic in the block's logs.
 * It has false positives and no false negatives. Source: Ethereum Yellow Paper, section 4.4.3 (equations for M3:2048).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';

const HEX_DIGITS = 512;

/** Bit numbers from the low end. */
export type BloomBits = readonly [number, number, number];

/**
 * Returns the bits of an address or topic: the low 11 bits of each of the hash's first three byte pairs. `hex` has no
 * prefix.
 */
export function bloomBits(hex: string): BloomBits {
  const hash = keccak_256(hexToBytes(hex));
  const bit = (at: number) => (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047;
  return [bit(0), bit(2), bit(4)];
}

/** Returns whether all three bits are set. `bloom` is `0x` and 512 lower-case hex digits, most significant first. */
export function bloomHas(bloom: string, bits: BloomBits): boolean {
  return bits.every((bit) => {
    const digit = Number.parseInt(bloom.charAt(2 + HEX_DIGITS - 1 - (bit >> 2)), 16);
    return ((digit >> (bit & 3)) & 1) === 1;
  });
}

/** Accumulates addresses and topics (hex without prefix) into the bloom of a header with exactly these. */
export function createBloom(): Readonly<{ add(hex: string): void; text(): string }> {
  const bytes = new Uint8Array(HEX_DIGITS / 2);
  const added = new Set<string>();
  return {
    add(hex) {
      if (added.has(hex)) return;
      added.add(hex);
      for (const bit of bloomBits(hex)) {
        const at = bytes.length - 1 - (bit >> 3);
        bytes[at] = (bytes[at] ?? 0) | (1 << (bit & 7));
      }
    },
    text: () => `0x${bytesToHex(bytes)}`,
  };
}
