/**
 * Proving the second factor again, for what lets money or power out.
 * @module
 */
import { actOf, type DashboardDeps } from './deps.ts';
import { usedFactor } from './second-factor.ts';
import { SUDO_MS, type Visitor } from './web-session.ts';

export const maySudo = ({ session }: Pick<Visitor, 'session'>, nowMs: number): boolean => session.sudoUntilMs > nowMs;

/**
 * Checks a one-time or recovery code and lets the session do more for a while. Attempts count together with those to
 * sign in, and are counted before they are checked.
 */
export async function proveAgain(
  { database, clock }: Pick<DashboardDeps, 'database' | 'clock'>,
  { person, session }: Visitor,
  code: string,
): Promise<boolean> {
  const nowMs = clock.nowMs();
  if ((await database.beginSignIn(person.id, nowMs)) > 0) return false;
  const secrets = await database.findSignInSecrets(person.name);
  const factor = secrets && usedFactor(secrets, code, nowMs);
  if (!factor) return false;
  const act = actOf(person, 'prove the second factor again', clock);
  const input = { hash: session.hash, personId: person.id, factor, untilMs: nowMs + SUDO_MS };
  return database.confirmWebSession(input, act);
}
