/**
 * Tokens in links: 128 bits that only the holder of the secret key can make from an id, which is no secret. A payer's
 * token lets the payer name a refund address at checkout, and a claim's token that of one refund.
 */
import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

const HEX_DIGITS = 32;

export function createTokens(secretKey: Uint8Array) {
  const key = createSecretKey(createHmac('sha256', secretKey).update('tokens in links v1').digest());
  const of = (kind: 'payer' | 'refund claim', id: string): string =>
    createHmac('sha256', key).update(`${kind} ${id}`).digest('hex').slice(0, HEX_DIGITS);
  return {
    of,
    /** Returns what is stored of a token, by which it is found. */
    hashOf: (token: string): string => createHash('sha256').update(token).digest('hex'),
    /** Compares a text with a payer's token in constant time. */
    isPayer(sessionId: string, text: string): boolean {
      const [found, expected] = [Buffer.from(text), Buffer.from(of('payer', sessionId))];
      return found.length === expected.length && timingSafeEqual(expected, found);
    },
  };
}

export type Tokens = ReturnType<typeof createTokens>;
