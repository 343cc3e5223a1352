/**
 * Passkeys of the person who is signed in. Adding and removing one asks for the second factor, and ends the other
 * sessions.
 * @module
 */
import type { Passkey } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { passkeyButton } from '../passkey-button.ts';
import { facts, table, time } from '../show.ts';
import type { Visitor } from '../web-session.ts';

const NAME_CHARS_MAX = 40;
const BACK = '/account';
const IMPOSSIBLE = html`<p class="hint">Browsers allow passkeys only over https, or at <code>http://localhost</code>: see
<code>dashboard_url</code>.</p>`;

export const passkeyPages = (deps: DashboardDeps): readonly CommonPage[] => [
  commonChange(deps, { path: '/account/passkeys', needs: 'to be signed in', plan: (visit) => planNew(deps, visit) }),
  commonChange(deps, {
    path: '/account/passkeys/remove',
    needs: 'to be signed in',
    plan: (visit) => planRemoval(deps, visit),
  }),
];

/** What a new passkey signs for. */
const purposeFor = ({ formToken }: Visitor): string => `register ${formToken}`;

const usedAt = ({ usedAtMs }: Passkey): Html | string => (usedAtMs === null ? 'not yet' : time(usedAtMs));

/** Renders the person's passkeys, and the form for another one. */
export async function passkeySection({ database, passkeys }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor } = visit;
  const own = await database.listPasskeys(visitor.person.id);
  const remove = (id: string): Html => html`<form method="post" action="/account/passkeys/remove">${changeFields(visit)}
<input type="hidden" name="id" value="${id}"><button class="plain">Remove</button></form>`;
  const add = html`<form method="post" action="/account/passkeys">${changeFields(visit)}
<label>Name of the new one <input name="name" maxlength="${NAME_CHARS_MAX}" placeholder="Laptop" autocomplete="off"></label>
${passkeyButton('passkey', 'Add a passkey', passkeys.creation(visitor.person, own, purposeFor(visitor)))}</form>`;
  return html`<section class="card" aria-labelledby="passkeys"><h2 id="passkeys">Passkeys</h2>
<p class="hint">A passkey signs you in by your finger, face or PIN, without a password, and takes the place of codes. It works at this address
only. Adding one needs scripts; password and codes go on working without.</p>
${
  own.length === 0
    ? null
    : table(
        'Passkeys',
        ['Name', 'Added', 'Last used', 'Remove'],
        own.map((one) => [one.name, time(one.createdAtMs), usedAt(one), remove(one.id)]),
      )
}
${passkeys.isPossible ? add : IMPOSSIBLE}
</section>`;
}

async function planNew({ passkeys }: DashboardDeps, { visitor, form, nowMs }: Visit<null>): Promise<Planned> {
  const { person, formToken } = visitor;
  const name = (form.name ?? '').trim().slice(0, NAME_CHARS_MAX) || 'Passkey';
  const sent = form.passkey ?? '';
  if (sent === '') return { to: BACK, said: 'No passkey was made: that needs a browser with scripts.' };
  return {
    command: 'add passkey',
    target: person.id,
    review: {
      title: `Add the passkey “${name}”?`,
      consequence: html`<p>Whoever holds it and knows its PIN, or has its finger or face, signs in as ${person.name}. Your other sessions end.</p>`,
      button: 'Add the passkey',
      back: BACK,
      needsSudo: true,
    },
    async act(database, act) {
      const made = await passkeys.registered(sent, purposeFor(visitor));
      const passkey = made && { ...made, personId: person.id, name, createdAtMs: nowMs };
      if (!passkey || !(await database.addPasskey(passkey, formToken, act))) {
        return {
          to: BACK,
          said: 'It was not added: the page was open for too long, or there are ten already. Try again.',
        };
      }
      return { to: BACK, said: `The passkey “${name}” is added.` };
    },
  };
}

async function planRemoval({ database }: DashboardDeps, { visitor, form }: Visit<null>): Promise<Planned> {
  const { person, formToken } = visitor;
  const own = await database.listPasskeys(person.id);
  const passkey = own.find(({ id }) => id === form.id);
  if (!passkey) return { to: BACK, said: 'That passkey is gone already.' };
  return {
    command: 'remove passkey',
    target: person.id,
    review: {
      title: `Remove the passkey “${passkey.name}”?`,
      consequence: html`${facts([
        ['Added', time(passkey.createdAtMs)],
        ['Last used', usedAt(passkey)],
      ])}<p>It signs nobody in any more. Your other sessions end.</p>`,
      button: 'Remove it',
      back: BACK,
      needsSudo: true,
      isDangerous: true,
    },
    async act(database, act) {
      await database.removePasskey(person.id, passkey.id, formToken, act);
      return { to: BACK, said: `The passkey “${passkey.name}” is removed.` };
    },
  };
}
