/**
 * Passkeys of the person who is signed in. Adding and removing one asks for the second factor, and ends the other
 * sessions.
 */
import type { Passkey } from '../../database/people/person.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list } from '../../web/list.ts';
import { changeFields, commonChange, FIRST_FACTOR_PATH, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { passkeyButton } from '../passkey-button.ts';
import { data, time } from '../show.ts';
import type { Words } from '../texts.ts';
import type { Visitor } from '../web-session.ts';

const NAME_CHARS_MAX = 40;
const BACK = '/account';

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

const usedAt = (words: Words, { usedAtMs }: Passkey): Html | string =>
  usedAtMs === null ? words.say('passkeys.not_yet') : time(usedAtMs);

/** Renders the person's passkeys, and the form for another one. */
export async function passkeySection({ database, passkeys }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor, words } = visit;
  if (!visitor.person.hasFactor) return html``;
  const own = await database.people.listPasskeys(visitor.person.id);
  const remove = (id: string): Html => html`<form method="post" action="/account/passkeys/remove">${changeFields(visit)}
<input type="hidden" name="id" value="${id}"><button class="plain">${words.say('passkeys.remove')}</button></form>`;
  const asked = passkeys.creation(visitor.person, own, purposeFor(visitor));
  const add = html`<form method="post" action="/account/passkeys">${changeFields(visit)}
<label>${words.say('passkeys.new_name')} <input name="name" maxlength="${NAME_CHARS_MAX}" placeholder="${words.say('passkeys.example')}" autocomplete="off"></label>
${passkeyButton(words, { field: 'passkey', text: words.say('passkeys.add'), asked })}</form>`;
  return html`<section class="card" aria-labelledby="passkeys"><h2 id="passkeys">${words.say('passkeys.title')}</h2>
<p class="hint">${words.say('passkeys.what')}</p>
${
  own.length === 0
    ? null
    : list<Passkey>({
        caption: words.say('passkeys.title'),
        columns: [
          [words.say('passkeys.name'), ({ name }) => data(name)],
          [words.say('passkeys.added_at'), ({ createdAtMs }) => time(createdAtMs)],
          [words.say('passkeys.used_at'), (one) => usedAt(words, one)],
          [words.say('passkeys.remove'), ({ id }) => remove(id)],
        ],
        rows: own,
        empty: '',
      })
}
${passkeys.isPossible ? add : html`<p class="hint">${words.html('passkeys.impossible')}</p>`}
</section>`;
}

async function planNew({ passkeys }: DashboardDeps, { visitor, form, nowMs, words }: Visit<null>): Promise<Planned> {
  const { person, formToken } = visitor;
  const name = (form.name ?? '').trim().slice(0, NAME_CHARS_MAX) || words.say('passkeys.unnamed');
  const sent = form.passkey ?? '';
  if (!person.hasFactor) return { to: FIRST_FACTOR_PATH };
  if (sent === '') return { to: BACK, said: words.say('passkeys.no_script') };
  return {
    command: 'add passkey',
    target: person.id,
    review: {
      title: words.say('passkeys.add_title', { name }),
      consequence: html`<p>${words.html('passkeys.add_text', { name: person.name })}</p>`,
      button: words.say('passkeys.add_button'),
      back: BACK,
      needsSudo: true,
    },
    async act(database, act) {
      const made = await passkeys.registered(sent, purposeFor(visitor));
      const passkey = made && { ...made, personId: person.id, name, createdAtMs: nowMs };
      if (!passkey || !(await database.people.addPasskey(passkey, formToken, act))) {
        return { to: BACK, said: words.say('passkeys.not_added') };
      }
      return { to: BACK, said: words.say('passkeys.added', { name }) };
    },
  };
}

async function planRemoval({ database }: DashboardDeps, { visitor, form, words }: Visit<null>): Promise<Planned> {
  const { person, formToken } = visitor;
  const own = await database.people.listPasskeys(person.id);
  const passkey = own.find(({ id }) => id === form.id);
  if (!passkey) return { to: BACK, said: words.say('passkeys.gone') };
  return {
    command: 'remove passkey',
    target: person.id,
    review: {
      title: words.say('passkeys.remove_title', { name: passkey.name }),
      consequence: html`${facts([
        [words.say('passkeys.added_at'), time(passkey.createdAtMs)],
        [words.say('passkeys.used_at'), usedAt(words, passkey)],
      ])}<p>${words.say('passkeys.remove_text')}</p>`,
      button: words.say('passkeys.remove_button'),
      back: BACK,
      needsSudo: true,
      isDangerous: true,
    },
    async act(database, act) {
      await database.people.removePasskey(person.id, passkey.id, formToken, act);
      return { to: BACK, said: words.say('passkeys.removed', { name: passkey.name }) };
    },
  };
}
