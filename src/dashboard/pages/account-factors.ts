/**
 * What somebody signs in with, changed by themselves: password, authenticator app and recovery codes in one form, which
 * asks for the present password, and passkeys. Each change asks for the second factor and ends the other sessions. For
 * what is lost there are recovery codes and `quayside user link`.
 */
import { refuse, say } from '../../acts/act.ts';
import type { Passkey } from '../../database/column-values.ts';
import { type Html, html } from '../../lib/html.ts';
import { sortableId } from '../../lib/id.ts';
import { facts, list } from '../../web/list.ts';
import { browserAct, formOf } from '../act-form.ts';
import { changing, FIRST_FACTOR_PATH, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { codesShown, secretShown } from '../link.ts';
import type { CommonPage, Visit } from '../page.ts';
import { passkeyButton } from '../passkeys.ts';
import { whyWeak } from '../passwords.ts';
import { isFactorRequired, newApp, newRecoveryCodes, newSecretOf, recoveryHash } from '../second-factor.ts';
import { badge, data, time } from '../show.ts';
import type { Words } from '../texts.ts';

const BACK = '/account';
/** From so few recovery codes on, the page says to make new ones. */
const FEW_CODES = 3;
const PASSKEY_NAME_CHARS_MAX = 40;

export function accountFactorPages(deps: DashboardDeps): readonly CommonPage[] {
  const needs = 'to be signed in';
  const page = { path: FIRST_FACTOR_PATH, needs } as const;
  const answer = changing(deps, async (visit: Visit<null>) => planSecrets(deps, visit));
  return [
    { ...page, method: 'post', answer },
    // Where somebody without a factor is led to.
    { ...page, method: 'get', answer: (visit) => answer({ ...visit, form: { once: sortableId(visit.nowMs) } }) },
  ];
}

/** Shows how many recovery codes are left, and leads to the form. */
export function factorSection({ visitor: { person }, words }: Visit<null>): Html {
  const { recoveryCodes, hasFactor } = person;
  const few = recoveryCodes > FEW_CODES ? null : html` ${badge(words.say('account-factors.few'), 'attention')}`;
  const state = hasFactor
    ? html`<p class="hint">${words.say('account-factors.text')}</p>
${facts([[words.say('account-factors.left'), html`${data(recoveryCodes)}${few}`]])}`
    : html`<p class="hint">${words.say('link.later_hint')}</p>`;
  return html`<section class="card" aria-labelledby="factors"><h2 id="factors">${words.say('account-factors.title')}</h2>
${state}
<p><a class="button${hasFactor ? ' plain' : ''}" href="${FIRST_FACTOR_PATH}">${words.say(hasFactor ? 'general.change' : 'account-factors.first_button')}</a></p></section>`;
}

/**
 * The form that a password manager fills in. The secret of the new app belongs to one rendering of it: nothing is
 * stored until its code is typed. Passwords are typed on the page that confirms, and nowhere else.
 */
function planSecrets(deps: DashboardDeps, visit: Visit<null>): Planned {
  const { visitor, form, nowMs, words } = visit;
  const { person, session, formToken } = visitor;
  const { once = '', current = '', password = '', new_code = '' } = form;
  if (once === '') return { to: BACK };
  const { hasFactor } = person;
  const isRequired = !hasFactor && isFactorRequired(deps.config.networks);
  const secret = newSecretOf(formToken, once);
  const app = new_code === '' && !isRequired ? null : newApp(secret, new_code, nowMs);
  const codes = form.codes === 'yes' || (app && !hasFactor) ? newRecoveryCodes() : null;
  let hash: string | null = null;
  return {
    command: 'change own secrets',
    target: person.id,
    review: {
      title: words.say(hasFactor ? 'account-factors.title' : 'account-factors.first_title'),
      consequence: secretsForm(deps, visit, { secret, isRequired }),
      button: words.say('general.save'),
      back: isRequired ? null : BACK,
      needsSudo: hasFactor,
      asks: ['username', 'current', 'password', 'new_code', 'codes'],
    },
    async before() {
      const secrets = await deps.database.signIns.attempt(person.name, nowMs);
      const isRight = await deps.passwords.isRight(current, secrets?.password ?? null);
      if (isRight === null) return { fault: words.say('sign-in.busy') };
      if (!isRight) return { fault: words.say('account-factors.password_wrong') };
      if (!app && (isRequired || new_code !== '')) return { fault: words.say('link.code_wrong') };
      if (password === '' && (app || codes)) return undefined;
      const weak = whyWeak(words, password, person.name);
      if (weak !== null) return { fault: weak };
      hash = await deps.passwords.hash(password);
      return hash === null ? { fault: words.say('sign-in.busy') } : undefined;
    },
    async act(database, act) {
      const changed = {
        ...(hash !== null && { password: hash }),
        ...app,
        ...(codes && { recoveryHashes: codes.map(recoveryHash) }),
      };
      // Where the session has ended meanwhile, the account page asks to sign in.
      if (!(await database.signIns.changeSecrets(session, changed, hasFactor, act))) return { to: BACK };
      if (codes) return { title: words.say('link.codes'), content: codesShown(words, codes, hasFactor ? BACK : '/') };
      return { to: BACK, said: words.say(app ? 'account-factors.app_saved' : 'account-factors.password_saved') };
    },
  };
}

function secretsForm(
  deps: DashboardDeps,
  { visitor: { person }, words }: Visit<null>,
  { secret, isRequired }: Readonly<{ secret: string; isRequired: boolean }>,
): Html {
  const app = html`<p>${words.say(person.hasFactor ? 'account-factors.app_text' : isRequired ? 'account-factors.first_required' : 'account-factors.first_text')}</p>
${secretShown(deps, words, { secret, name: person.name })}
<label>${words.say('account-factors.app_code')} <input name="new_code" dir="ltr" autocomplete="off" inputmode="numeric" pattern="[0-9 ]*"${isRequired ? html` required` : null}></label>`;
  const others = html`<label>${words.say('account-factors.new')} <input name="password" type="password" autocomplete="new-password" minlength="12"></label>
<p class="hint">${words.say('account-factors.keep')} ${words.say('link.hint')}</p>`;
  const ask = html`<input type="hidden" name="username" autocomplete="username" value="${person.name}">
<label>${words.say('account-factors.current')} <input name="current" type="password" autocomplete="current-password" required></label>`;
  if (!person.hasFactor) return html`${app}${ask}${isRequired ? null : others}`;
  return html`${ask}${others}
<details><summary>${words.say('account-factors.app')}</summary>${app}</details>
<label class="check"><input type="checkbox" name="codes" value="yes"> ${words.say('account-factors.codes_button')}</label>
<p class="hint">${words.say('account-factors.codes_text')}</p>`;
}

/** The challenge that a new passkey signs. */
const purposeFor = ({ visitor }: Pick<Visit<null>, 'visitor'>): string => `register ${visitor.formToken}`;

const usedAt = (words: Words, { usedAtMs }: Passkey): Html | string =>
  usedAtMs === null ? words.say('passkeys.not_yet') : time(usedAtMs);

type Made = Awaited<ReturnType<DashboardDeps['passkeys']['registered']>>;

const addPasskey = browserAct({
  name: 'add passkey',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: {
    name: {
      label: say('passkeys.new_name'),
      ...{ charsMax: PASSKEY_NAME_CHARS_MAX, isProse: true },
    },
    passkey: { label: say('passkeys.add') },
  },
  async plan({ visit: { visitor, words } }, { name = '', passkey: sent = '' }) {
    if (!visitor.person.hasFactor) return refuse('refused', say('change.no_factor'));
    if (sent === '') return refuse('usage', say('passkeys.no_script'));
    const called = name.slice(0, PASSKEY_NAME_CHARS_MAX) || words.say('passkeys.unnamed');
    return { person: visitor.person, name: called, sent, made: null as Made };
  },
  review: ({ person, name }) => ({
    title: say('passkeys.add_title', { name }),
    target: person.id,
    facts: [],
    notes: [say('passkeys.add_text', { name: person.name })],
    button: say('passkeys.add_button'),
  }),
  async before({ deps, visit }, plan) {
    return { ...plan, made: await deps.passkeys.registered(plan.sent, purposeFor(visit)) };
  },
  async run({ database, visit, act, nowMs }, { name, made }) {
    const { session } = visit.visitor;
    const isAdded = made && (await database.signIns.addPasskey(session, { ...made, name, createdAtMs: nowMs }, act));
    return isAdded ? { said: say('passkeys.added', { name }), json: {} } : refuse('refused', say('passkeys.not_added'));
  },
});

const removePasskey = browserAct({
  name: 'remove passkey',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: { id: { label: say('passkeys.name'), isRequired: true } },
  async plan({ database, visit: { visitor } }, { id }) {
    const own = await database.signIns.listPasskeys(visitor.person.id);
    return own.find((one) => one.id === id) ?? refuse('refused', say('passkeys.gone'));
  },
  review: ({ id, name, createdAtMs, usedAtMs }) => ({
    title: say('passkeys.remove_title', { name }),
    target: id,
    facts: [
      [say('passkeys.added_at'), { atMs: createdAtMs }],
      [say('passkeys.used_at'), usedAtMs === null ? say('passkeys.not_yet') : { atMs: usedAtMs }],
    ],
    notes: [say('passkeys.remove_text')],
    button: say('passkeys.remove_button'),
    isDangerous: true,
  }),
  async run({ database, visit, act }, { id, name }) {
    await database.signIns.removePasskey(visit.visitor.session, id, act);
    return { said: say('passkeys.removed', { name }), json: {} };
  },
});
const adding = formOf(addPasskey, { path: '/account/passkeys', inputs: ['name', 'passkey'] });
const removing = formOf(removePasskey, { path: '/account/passkeys/remove', inputs: ['id'] });

/** Forms of the account's page. */
export const passkeyForms = [adding, removing];

/** Renders the person's passkeys, and the form for another one. */
export async function passkeySection({ database, passkeys }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor, words } = visit;
  if (!visitor.person.hasFactor) return html``;
  const own = await database.signIns.listPasskeys(visitor.person.id);
  const remove = { button: words.say('passkeys.remove'), look: 'small' } as const;
  const asked = passkeys.creation(visitor.person, own, purposeFor(visit));
  const add = adding.show(visit, {
    ...{ button: null, inputs: ['name'] },
    below: passkeyButton(words, { field: 'passkey', text: words.say('passkeys.add'), asked }),
  });
  const table = list<Passkey>({
    caption: words.say('passkeys.title'),
    columns: [
      [words.say('passkeys.name'), ({ name }) => data(name)],
      [words.say('passkeys.added_at'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('passkeys.used_at'), (one) => usedAt(words, one)],
      [words.say('passkeys.remove'), ({ id, name }) => removing.show(visit, { ...remove, given: { id }, about: name })],
    ],
    rows: own,
    empty: '',
  });
  return html`<section class="card" aria-labelledby="passkeys"><h2 id="passkeys">${words.say('passkeys.title')}</h2>
<p class="hint">${words.say('passkeys.what')}</p>
${own.length === 0 ? null : table}${passkeys.isPossible ? add : html`<p class="hint">${words.html('passkeys.impossible')}</p>`}
</section>`;
}
