/** The second factor that a one-time link sets up, as an authenticator app gets it from the link's page. */
import Sqlite from 'better-sqlite3';
import { Secret, TOTP } from 'otpauth';
import { newSecretOf } from '../../src/dashboard/second-factor.ts';
import { hashOf } from '../../src/lib/id.ts';

/** @param file of the database, in which the link is not used yet */
export function linkSecretIn(file: string, token: string): string {
  const client = new Sqlite(file, { readonly: true });
  try {
    const salt = client.prepare('SELECT link_salt FROM people WHERE link_hash = ?').pluck().get(hashOf(token));
    if (typeof salt !== 'string') throw new Error('the link is used, or there is none');
    return newSecretOf(token, salt);
  } finally {
    client.close();
  }
}

/** Returns the code that an app with this secret (hex) shows at a time. */
export const codeAt = (secret: string, nowMs: number): string =>
  TOTP.generate({ secret: Secret.fromHex(secret), timestamp: nowMs });
