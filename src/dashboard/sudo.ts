/**
 * Proving the second factor again, for what lets money or power out: by a code, or by a passkey that signs for this
 * very form. The session gets another token then. Recovery codes do not count here. Who has no factor yet proves
 * nothing while every network is simulated, except for what is live.
 */
import { createHash } from 'node:crypto';
import type { UsedFactor } from '../database/people.ts';
import { type Html, html } from '../lib/html.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { actOf, type DashboardDeps } from './deps.ts';
import type { StoreAt, Visit } from './page.ts';
import { passkeyButton } from './passkeys.ts';
import { isFactorRequired, isRecoveryCode, usedFactor } from './second-factor.ts';
import type { TextKey } from './texts.ts';
import { SUDO_MS } from './web-session.ts';

/** How long requests that were on their way are still taken with the token of before. */
const PREVIOUS_MS = 10_000;

/** Names of the fields that `proofFields` asks for. */
export const PROOF_FIELDS: readonly string[] = ['code', 'proof'];

type Visited = Visit<StoreAt | null>;

/** Returns what a visitor needs for what lets money or power out: nothing, a proof, or first of all a factor. */
export function neededFor(
  { config }: Pick<DashboardDeps, 'config'>,
  { visitor: { session, person }, at, nowMs }: Pick<Visited, 'visitor' | 'at' | 'nowMs'>,
): 'nothing' | 'a proof' | 'a factor' {
  if (!person.hasFactor) return isFactorRequired(config.networks) || at?.mode === 'live' ? 'a factor' : 'nothing';
  return session.sudoUntilMs > nowMs ? 'nothing' : 'a proof';
}

type Said = readonly (readonly [string, string])[];

/** Returns what a passkey signs for: one form with what it says, of one session. */
const purposeOf = ({ visitor, path }: Visited, said: Said): string =>
  createHash('sha256')
    .update(JSON.stringify([visitor.formToken, path, said.filter(([name]) => name !== 'once')]))
    .digest('base64url');

/** Asks for a code, or for a passkey where the person has one. @param said what the form says */
export async function proofFields(
  { database, passkeys }: DashboardDeps,
  visit: Visit<StoreAt | null>,
  said: Said,
): Promise<Html> {
  const { visitor, words } = visit;
  const own = passkeys.isPossible ? await database.signIns.listPasskeys(visitor.person.id) : [];
  const asked = passkeys.request(
    own.map(({ id }) => id),
    purposeOf(visit, said),
  );
  return html`<label>${words.say('Code from your app')} <input name="code" autocomplete="one-time-code" spellcheck="false" dir="ltr" required></label>
<p class="hint">${words.say('Asked again because this lets money or power out. It is good for ten minutes. A recovery code is not enough: it is for signing in.')}</p>
${own.length === 0 ? null : passkeyButton(words, { field: 'proof', text: words.say('Use a passkey instead'), asked })}`;
}

/**
 * Checks what `proofFields` asked for, and lets the session do more for a while. Attempts with codes count together
 * with those to sign in.
 * @returns the session's new token, or why the proof is refused
 */
export async function proveAgain(
  deps: DashboardDeps,
  visit: Visited,
  said: Said,
): Promise<Readonly<{ token: string }> | Readonly<{ fault: TextKey }>> {
  const { database, clock } = deps;
  const { visitor, form, nowMs } = visit;
  const { proof = '', code = '' } = form;
  if (proof === '' && code.trim() === '')
    return { fault: 'Nothing was changed yet: enter a code from your app, to show that it is still you.' };
  const factor = await factorOf(deps, visit, said);
  const token = newToken();
  const renewed = { hash: hashOf(token), previousUntilMs: nowMs + PREVIOUS_MS, sudoUntilMs: nowMs + SUDO_MS };
  const act = actOf(visitor.person, 'prove the second factor again', clock);
  if (factor && (await database.signIns.confirmWebSession(visitor.session, factor, renewed, act))) return { token };
  if (proof !== '')
    return {
      fault:
        'That passkey was refused: the page was open for too long, or it is not one of yours. Nothing was changed. Try again, or enter a code from your app.',
    };
  return {
    fault: isRecoveryCode(code)
      ? 'A recovery code is for signing in, and does not confirm this. Nothing was changed. If the app is lost, sign in with a recovery code and set up a new one.'
      : 'The code is wrong, was used before, or the account waits after several wrong attempts. Nothing was changed. Wait for a new code and try again.',
  };
}

async function factorOf({ database, passkeys }: DashboardDeps, visit: Visited, said: Said): Promise<UsedFactor | null> {
  const { visitor, form, nowMs } = visit;
  const { person } = visitor;
  const { proof = '', code = '' } = form;
  if (proof !== '') {
    const used = await passkeys.used(proof, purposeOf(visit, said), (id) => database.signIns.findPasskey(id));
    return used?.person.id === person.id ? used.factor : null;
  }
  const secrets = await database.signIns.attempt(person.name, nowMs);
  return secrets && usedFactor(secrets, code, nowMs);
}
