/**
 * Proving the second factor again, for what lets money or power out: by a code, or by a passkey that signs for this
 * very form. The session gets another token then. Recovery codes are for signing in, and do not count here. Who has no
 * factor yet proves nothing while every network is simulated, except for what is live.
 */

import { createHash } from 'node:crypto';
import type { UsedFactor } from '../database/people/person.ts';
import { hashOf, newToken } from '../lib/token.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import type { StoreAt } from './page.ts';
import { isFactorRequired, usedFactor } from './second-factor.ts';
import { SUDO_MS, type Visitor } from './web-session.ts';

/** How long requests that were on their way are still taken with the token of before. */
const PREVIOUS_MS = 10_000;

type SudoDeps = Pick<DashboardDeps, 'database' | 'clock' | 'passkeys'>;

/** Returns what a visitor needs for what lets money or power out: nothing, a proof, or first of all a factor. */
export function neededFor(
  { config }: Pick<DashboardDeps, 'config'>,
  { visitor: { session, person }, at, nowMs }: Readonly<{ visitor: Visitor; at: StoreAt | null; nowMs: number }>,
): 'nothing' | 'a proof' | 'a factor' {
  if (!person.hasFactor) return isFactorRequired(config.networks) || at?.mode === 'live' ? 'a factor' : 'nothing';
  return session.sudoUntilMs > nowMs ? 'nothing' : 'a proof';
}

/** What somebody proves with: a one-time code, or what the script sends for a passkey. */
export type Proof = Readonly<{ code: string }> | Readonly<{ passkey: string; purpose: string }>;

/** Returns what a passkey signs for: one form with what it says, of one session. */
export function purposeOf(
  { formToken }: Visitor,
  path: string,
  fields: readonly (readonly [string, string])[],
): string {
  const said = fields.filter(([name]) => name !== 'once');
  return createHash('sha256')
    .update(JSON.stringify([formToken, path, said]))
    .digest('base64url');
}

/**
 * Checks a proof and lets the session do more for a while. Attempts with codes count together with those to sign in,
 * and are counted before they are checked.
 * @returns the session's new token; null if the proof is refused
 */
export async function proveAgain(deps: SudoDeps, visitor: Visitor, proof: Proof): Promise<string | null> {
  const { database, clock } = deps;
  const { person, session } = visitor;
  const nowMs = clock.nowMs();
  const factor = await factorOf(deps, visitor, proof, nowMs);
  if (!factor) return null;
  const act = actOf(person, 'prove the second factor again', clock);
  const token = newToken();
  const renewed = { newHash: hashOf(token), previousUntilMs: nowMs + PREVIOUS_MS };
  const input = { hash: session.hash, personId: person.id, factor, untilMs: nowMs + SUDO_MS, ...renewed };
  return (await database.signIns.confirmWebSession(input, act)) ? token : null;
}

async function factorOf(
  { database, passkeys }: SudoDeps,
  { person }: Visitor,
  proof: Proof,
  nowMs: number,
): Promise<UsedFactor | null> {
  if ('passkey' in proof) {
    const used = await passkeys.used(proof.passkey, proof.purpose, (id) => database.people.findPasskey(id));
    return used?.person.id === person.id ? used.factor : null;
  }
  if ((await database.signIns.begin(person.id, nowMs)) > 0) return null;
  const secrets = await database.signIns.findSecrets(person.name);
  const used = secrets && usedFactor(secrets, proof.code, nowMs);
  return used && !('recoveryHash' in used) ? used : null;
}
