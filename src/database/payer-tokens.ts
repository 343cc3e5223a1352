/**
 * Payers' tokens: 128 bits that only the holder of the secret key can derive from a session's id. The id is no secret;
 * the token lets a payer name a refund address.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

const HEX_DIGITS = 32;

export function payerTokens(secretKey: Uint8Array) {
  const key = createSecretKey(createHmac('sha256', secretKey).update('quayside payer token v1').digest());
  const tokenOf = (sessionId: string): string =>
    createHmac('sha256', key).update(sessionId).digest('hex').slice(0, HEX_DIGITS);

  return {
    /** Returns the token of a session's payer, by the current secret key. Those by earlier versions stay valid. */
    payerToken: tokenOf,
    /** Compares in constant time. */
    isPayerToken(sessionId: string, text: string): boolean {
      const [given, expected] = [Buffer.from(text), Buffer.from(tokenOf(sessionId))];
      return given.length === expected.length && timingSafeEqual(expected, given);
    },
  };
}
