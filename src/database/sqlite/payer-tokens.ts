/**
 * Payers' tokens: 128 bits that only the holder of the secret key can derive from a session's id. The id is no secret;
 * the token lets a payer name a refund address.
 */

import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { Sessions } from '../database.ts';

const HEX_DIGITS = 32;

export function payerTokens(secretKey: Uint8Array): Pick<Sessions, 'payerToken' | 'isPayerToken'> {
  const key = createSecretKey(createHmac('sha256', secretKey).update('quayside payer token v1').digest());
  const tokenOf = (sessionId: string): string =>
    createHmac('sha256', key).update(sessionId).digest('hex').slice(0, HEX_DIGITS);

  return {
    payerToken: tokenOf,
    isPayerToken(sessionId, text) {
      const [given, expected] = [Buffer.from(text), Buffer.from(tokenOf(sessionId))];
      return given.length === expected.length && timingSafeEqual(expected, given);
    },
  };
}
