/**
 * Challenges that a passkey signs. None is stored: each carries its end and a proof of what it was made for, under a
 * key that lives as long as the process. Only those that were used are remembered, until they end.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

const LIFE_MS = 10 * 60_000;
const KEY_BYTES = 32;
const RANDOM_BYTES = 16;
const TIME_BYTES = 8;
const PROOF_BYTES = 32;

type Challenges = Readonly<{
  /** Returns a challenge (base64url) for one purpose, such as signing in. */
  make(purpose: string): string;
  isGood(challenge: string, purpose: string): boolean;
  /** Uses up a good challenge, whose signature was found right. @returns false when it was used before */
  use(challenge: string): boolean;
}>;

export function createChallenges(clock: Pick<Clock, 'nowMs'>): Challenges {
  const key = randomBytes(KEY_BYTES);
  const used = new Map<string, number>();
  const proofOf = (start: Buffer, purpose: string): Buffer =>
    createHmac('sha256', key).update(start).update(purpose).digest();
  return {
    make(purpose) {
      const start = Buffer.alloc(TIME_BYTES + RANDOM_BYTES);
      start.writeBigUInt64BE(BigInt(clock.nowMs() + LIFE_MS));
      randomBytes(RANDOM_BYTES).copy(start, TIME_BYTES);
      return Buffer.concat([start, proofOf(start, purpose)]).toString('base64url');
    },
    isGood(challenge, purpose) {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== TIME_BYTES + RANDOM_BYTES + PROOF_BYTES) return false;
      const start = bytes.subarray(0, TIME_BYTES + RANDOM_BYTES);
      const isOurs = timingSafeEqual(bytes.subarray(start.length), proofOf(start, purpose));
      // Spelled as we spelled it, so that it cannot be used again in another spelling.
      const isSpelled = bytes.toString('base64url') === challenge;
      return isOurs && isSpelled && Number(start.readBigUInt64BE()) > clock.nowMs() && !used.has(challenge);
    },
    use(challenge) {
      const nowMs = clock.nowMs();
      for (const [one, untilMs] of used) {
        if (untilMs > nowMs) break;
        used.delete(one);
      }
      if (used.has(challenge)) return false;
      used.set(challenge, nowMs + LIFE_MS);
      return true;
    },
  };
}
