/**
 * A person's own means to sign in, and their changes: password, authenticator app and recovery codes in one form, which
 * asks for the present password, and passkeys. Each change asks for the second factor and ends the other sessions. For
 * what is lost there are recovery codes and `quayside user link`.
 */
import { refuse, say } from '../../acts/act.ts';
import type { Passkey } from '../../database/column-values.ts';
import { type Html, html } from '../../lib/html.ts';
import { sortableId } from '../../lib/id.ts';
import { facts, list } from '../../web/list.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import { FIRST_FACTOR_PATH, hidden } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { formTokenField } from '../frame.ts';
import { codesShown, secretShown } from '../link.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { passkeyButton } from '../passkeys.ts';
import { whyWeak } from '../passwords.ts';
import { isFactorRequired, newApp, newRecoveryCodes, newSecretOf, recoveryHash } from '../second-factor.ts';
import { badge, data, time } from '../show.ts';
import { neededFor, proofFields } from '../sudo.ts';
import type { Words } from '../texts.ts';
import type { Visitor } from '../web-session.ts';

const BACK = '/account';
/** From so few recovery codes on, the page says to make new ones. */
const FEW_CODES = 3;
const PASSKEY_NAME_CHARS_MAX = 40;

/** Shows how many recovery codes are left, and leads to the form. */
export function factorSection({ visitor: { person }, words }: Visit<null>): Html {
  const { recoveryCodes, hasFactor } = person;
  const few = recoveryCodes > FEW_CODES ? null : html` ${badge(words.say('make new ones'), 'attention')}`;
  const state = hasFactor
    ? html`<p class="hint">${words.say('Each change asks for a code and ends your other sessions.')}</p>
${facts([[words.say('Recovery codes left'), html`${data(recoveryCodes)}${few}`]])}`
    : html`<p class="hint">${words.say('While every network is simulated, your password is enough. A second factor is required before a network with real transactions is used.')}</p>`;
  return html`<section class="card" aria-labelledby="factors"><h2 id="factors">${words.say('Password and codes')}</h2>
${state}
<p><a class="button${hasFactor ? ' plain' : ''}" href="${FIRST_FACTOR_PATH}">${words.say(hasFactor ? 'Change' : 'Set up the app')}</a></p></section>`;
}

const isAppRequired = ({ config }: DashboardDeps, { person }: Visitor): boolean =>
  !person.hasFactor && isFactorRequired(config.networks);

const changeSecrets = browserAct({
  name: 'change own secrets',
  needs: 'to be signed in',
  async plan({ deps, visit }) {
    const { visitor, form, nowMs } = visit;
    const { person } = visitor;
    const { once = '', new_code = '' } = form;
    const isRequired = isAppRequired(deps, visitor);
    const app = new_code === '' && !isRequired ? null : newApp(newSecretOf(visitor.formToken, once), new_code, nowMs);
    const codes = form.codes === 'yes' || (app && !person.hasFactor) ? newRecoveryCodes() : null;
    return {
      person,
      app,
      codes,
      isWrong: app === null && (isRequired || new_code !== ''),
      hash: null as string | null,
    };
  },
  asks: ({ person }) => (person.hasFactor ? 'second factor' : 'confirmation'),
  target: ({ person }) => person.id,
  async before({ deps, visit: { form, nowMs } }, plan) {
    const { person, app, codes, isWrong } = plan;
    const { current = '', password = '' } = form;
    const secrets = await deps.database.signIns.attempt(person.name, nowMs);
    const isRight = await deps.passwords.isRight(current, secrets?.password ?? null);
    if (isRight === null) return busy;
    if (!isRight) return wrongPassword;
    if (isWrong)
      return refuse(
        'refused',
        say('That is not the code that the app shows now. Check the clock of your phone, and try the next code.'),
      );
    if (password === '' && (app || codes)) return plan;
    const weak = whyWeak(password, person.name);
    if (weak !== null) return refuse('refused', weak);
    const hash = await deps.passwords.hash(password);
    return hash === null ? busy : { ...plan, hash };
  },
  async run({ database, visit, act }, { person, app, codes, hash }) {
    const changed = {
      ...(hash !== null && { password: hash }),
      ...app,
      ...(codes && { recoveryHashes: codes.map(recoveryHash) }),
    };
    const isDone = await database.signIns.changeSecrets(visit.visitor.session, changed, person.hasFactor, act);
    if (!isDone) return wrongPassword;
    if (codes)
      return {
        made: say('Your recovery codes'),
        said: say(
          'Each opens your account once, instead of a code from your app. Print or save them now: they are not shown again.',
        ),
        json: { codes },
      };
    return {
      said: say(
        app
          ? 'The new app is in use, and the one before no longer works. Your other sessions have ended.'
          : 'The password is changed. Your other sessions have ended.',
      ),
      json: {},
    };
  },
});
const wrongPassword = refuse(
  'refused',
  say(
    'That is not your current password, or the account waits after several wrong attempts. Nothing was changed. Wait a minute and try again.',
  ),
);
const busy = refuse('refused', say('Others are signing in right now. Try again in a few seconds.'));
const changing = formOf(changeSecrets, {
  path: FIRST_FACTOR_PATH,
  back: BACK,
  confirms: true,
  below: (_deps, { words }, { json }) => codesShown(words, json.codes as readonly string[]),
});

/** The page of password, app and recovery codes, where somebody without a factor is led to. */
export const secretPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: FIRST_FACTOR_PATH, needs: 'to be signed in', answer: (visit) => secretsPage(deps, visit) }, [
    changing,
  ]);

/** The form that a password manager fills in. Passwords are typed on it each time. */
async function secretsPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { visitor, form, nowMs, words } = visit;
  const { once = sortableId(nowMs) } = form;
  const isRequired = isAppRequired(deps, visitor);
  const asksProof = neededFor(deps, visit) === 'a proof';
  const cancel = isRequired ? null : html`<a class="button plain" href="${BACK}">${words.say('Cancel')}</a> `;
  return {
    title: words.say(visitor.person.hasFactor ? 'Password and codes' : 'Set up a second factor'),
    content: html`<form method="post" action="${FIRST_FACTOR_PATH}" class="card confirm">
${formTokenField(visitor.formToken)}${hidden('once', once)}
${secretsForm(deps, visit, { secret: newSecretOf(visitor.formToken, once), isRequired })}
${asksProof ? await proofFields(deps, visit, []) : null}
<p class="actions">${cancel}<button>${words.say('Save')}</button></p></form>`,
  };
}

function secretsForm(
  deps: DashboardDeps,
  { visitor: { person }, words }: Visit<null>,
  { secret, isRequired }: Readonly<{ secret: string; isRequired: boolean }>,
): Html {
  const app = html`<p>${words.say(person.hasFactor ? 'Scan this with the new app. The one before goes on until the new one’s code is typed here, so keep it until then. Your other sessions end too. The password, the recovery codes and passkeys stay.' : isRequired ? 'This installation now uses a network with real transactions, so everybody needs a second factor. Scan this with an authenticator app.' : 'Scan this with an authenticator app. From then on each sign-in asks for a code from it.')}</p>
${secretShown(deps, words, { secret, name: person.name })}
<label>${words.say('The code that the new app shows now')} <input name="new_code" dir="ltr" autocomplete="off" inputmode="numeric" pattern="[0-9 ]*"${isRequired ? html` required` : null}></label>`;
  const others = html`<label>${words.say('New password')} <input name="password" type="password" autocomplete="new-password" minlength="12"></label>
<p class="hint">${words.say('Leave it empty to keep your password.')} ${words.say('At least 12 characters. Four words that nobody would guess are good.')}</p>`;
  const ask = html`<input type="hidden" name="username" autocomplete="username" value="${person.name}">
<label>${words.say('Current password')} <input name="current" type="password" autocomplete="current-password" required></label>`;
  if (!person.hasFactor) return html`${app}${ask}${isRequired ? null : others}`;
  return html`${ask}${others}
<details><summary>${words.say('Replace the authenticator app…')}</summary>${app}</details>
<label class="check"><input type="checkbox" name="codes" value="yes"> ${words.say('Make new codes')}</label>
<p class="hint">${words.say('The codes of before end, and so do your other sessions. The new ones are shown once: have a printer or a safe place ready.')}</p>`;
}

/** The challenge that a new passkey signs. */
const purposeFor = ({ visitor }: Pick<Visit<null>, 'visitor'>): string => `register ${visitor.formToken}`;

const usedAt = (words: Words, { usedAtMs }: Passkey): Html | string =>
  usedAtMs === null ? words.say('not yet') : time(usedAtMs);

type Made = Awaited<ReturnType<DashboardDeps['passkeys']['registered']>>;

const addPasskey = browserAct({
  name: 'add passkey',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: {
    name: {
      label: say('Name of the new one'),
      ...{ charsMax: PASSKEY_NAME_CHARS_MAX, isProse: true },
    },
    passkey: { label: say('Add a passkey') },
  },
  async plan({ visit: { visitor, words } }, { name = '', passkey: sent = '' }) {
    if (!visitor.person.hasFactor)
      return refuse('refused', say('This needs a second factor. Set up an authenticator app, then try again.'));
    if (sent === '') return refuse('usage', say('No passkey was made: that needs a browser with scripts.'));
    const called = name.slice(0, PASSKEY_NAME_CHARS_MAX) || words.say('Passkey');
    return { person: visitor.person, name: called, sent, made: null as Made };
  },
  review: ({ person, name }) => ({
    title: say('Add the passkey “{name}”?', { name }),
    target: person.id,
    facts: [],
    notes: [
      say(
        'Whoever holds it and knows its PIN, or has its finger or face, signs in as {name}. Your other sessions end.',
        { name: person.name },
      ),
    ],
    button: say('Add the passkey'),
  }),
  async before({ deps, visit }, plan) {
    return { ...plan, made: await deps.passkeys.registered(plan.sent, purposeFor(visit)) };
  },
  async run({ database, visit, act, nowMs }, { name, made }) {
    const { session } = visit.visitor;
    const isAdded = made && (await database.signIns.addPasskey(session, { ...made, name, createdAtMs: nowMs }, act));
    return isAdded
      ? { said: say('The passkey “{name}” is added.', { name }), json: {} }
      : refuse(
          'refused',
          say('It was not added: the page was open for too long, or there are ten already. Try again.'),
        );
  },
});

const removePasskey = browserAct({
  name: 'remove passkey',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: { id: { label: say('Passkey'), isRequired: true } },
  async plan({ database, visit: { visitor } }, { id }) {
    const own = await database.signIns.listPasskeys(visitor.person.id);
    return own.find((one) => one.id === id) ?? refuse('refused', say('That passkey is gone already.'));
  },
  review: ({ id, name, createdAtMs, usedAtMs }) => ({
    title: say('Remove the passkey “{name}”?', { name }),
    target: id,
    facts: [
      [say('Added'), { atMs: createdAtMs }],
      [say('Last sign-in with it'), usedAtMs === null ? say('not yet') : { atMs: usedAtMs }],
    ],
    notes: [say('It signs nobody in any more. Your other sessions end.')],
    button: say('Remove it'),
    isDangerous: true,
  }),
  async run({ database, visit, act }, { id, name }) {
    await database.signIns.removePasskey(visit.visitor.session, id, act);
    return { said: say('The passkey “{name}” is removed.', { name }), json: {} };
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
  const remove = { button: words.say('Remove'), look: 'small' } as const;
  const asked = passkeys.creation(visitor.person, own, purposeFor(visit));
  const add = adding.show(visit, {
    ...{ button: null, inputs: ['name'] },
    below: passkeyButton(words, { field: 'passkey', text: words.say('Add a passkey'), asked }),
  });
  const table = list<Passkey>({
    caption: words.say('Passkeys'),
    columns: [
      [words.say('Passkey'), ({ name }) => data(name)],
      [words.say('Added'), ({ createdAtMs }) => time(createdAtMs)],
      [words.say('Last sign-in with it'), (one) => usedAt(words, one)],
      [words.say('Remove'), ({ id, name }) => removing.show(visit, { ...remove, given: { id }, about: name })],
    ],
    rows: own,
    empty: '',
  });
  return html`<section class="card" aria-labelledby="passkeys"><h2 id="passkeys">${words.say('Passkeys')}</h2>
<p class="hint">${words.say('A passkey signs you in by your finger, face or PIN, without a password, and takes the place of codes. It works at this address only. Adding one needs scripts; password and codes go on working without.')}</p>
${own.length === 0 ? null : table}${passkeys.isPossible ? add : html`<p class="hint">${words.html('Browsers allow passkeys only over https, or at `http://localhost`: see `dashboard_url`.')}</p>`}
</section>`;
}
