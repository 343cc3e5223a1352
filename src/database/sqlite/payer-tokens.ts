/**
 * Payers' tokens: 128 bits that only the holder of the secret key can derive from a session's id. The id is no secret;
 * the token lets a payer name a refund address.
 * @module
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { invariant } from '../../core/fault.ts';
import type { Database } from '../database.ts';
import type { DerivedKeys } from './derived-keys.ts';

const HEX_DIGITS = 32;

export function payerTokens(keys: DerivedKeys): Pick<Database, 'payerToken' | 'isPayerToken'> {
  function derive(sessionId: string, version: number): string {
    const key = keys.of('payer token', version);
    invariant(key, `the key of version ${version} is known`);
    return createHmac('sha256', key).update(sessionId).digest('hex').slice(0, HEX_DIGITS);
  }
  return {
    payerToken: (sessionId) => derive(sessionId, keys.version),
    isPayerToken(sessionId, text) {
      const given = Buffer.from(text);
      return (
        given.length === HEX_DIGITS &&
        keys.versions.some((version) => timingSafeEqual(Buffer.from(derive(sessionId, version)), given))
      );
    },
  };
}
