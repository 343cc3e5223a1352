/**
 * Payers' tokens: 128 bits that only the holder of the secret key can derive from a session's id. The id is no secret;
 * the token lets a payer name a refund address.
 * @module
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { permanent } from '../../core/fault.ts';
import type { Database } from '../database.ts';
import type { DataKeys } from './data-keys.ts';

const HEX_DIGITS = 32;

/** Tokens are made with the current version of the secret key; those of every known version are accepted. */
export function payerTokens(keys: DataKeys): Pick<Database, 'payerToken' | 'isPayerToken'> {
  function tokenOf(sessionId: string, version: number): string | null {
    const secretKey = keys.find(version);
    if (!secretKey) return null;
    const key = createHmac('sha256', secretKey).update('quayside payer token v1').digest();
    return createHmac('sha256', key).update(sessionId).digest('hex').slice(0, HEX_DIGITS);
  }

  return {
    payerToken(sessionId) {
      const token = tokenOf(sessionId, keys.current());
      if (token !== null) return token;
      throw permanent('secret_key_wrong', `Version ${keys.current()} of the secret key is missing; restore it.`);
    },
    isPayerToken(sessionId, text) {
      const given = Buffer.from(text);
      return keys.versions().some((version) => {
        const expected = Buffer.from(tokenOf(sessionId, version) ?? '');
        return given.length === HEX_DIGITS && expected.length === HEX_DIGITS && timingSafeEqual(expected, given);
      });
    },
  };
}
