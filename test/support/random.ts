/** Choices from a seed: the same seed makes the same history. */
import { digest } from '../../src/sandbox/digest.ts';

export type Random = Readonly<{
  /** Returns a whole number from 0 to `below` − 1. */
  int(below: number): number;
  /** Returns true with the given probability (0–1). */
  chance(probability: number): boolean;
  /** Returns the items in another order. */
  shuffled<T>(items: readonly T[]): T[];
}>;

/**
 * Creates a small fast counter generator (sfc32, Chris Doty-Humphrey, PractRand, public domain), seeded by the digest
 * of `parts`.
 */
export function createRandom(...parts: readonly (string | number)[]): Random {
  const seed = Buffer.from(digest(...parts), 'hex');
  let a = seed.readUInt32LE(0);
  let b = seed.readUInt32LE(4);
  let c = seed.readUInt32LE(8);
  let counter = seed.readUInt32LE(12) | 1;
  const fraction = (): number => {
    const out = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + out;
    return (out >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(fraction() * below);
  return {
    int,
    chance: (probability) => fraction() < probability,
    shuffled(items) {
      const left = [...items];
      return items.flatMap(() => left.splice(int(left.length), 1));
    },
  };
}
