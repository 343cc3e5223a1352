/**
 * What somebody signs in with, changed by themselves: the password, the authenticator app, the recovery codes. Each
 * change asks for the second factor and ends the other sessions. Who has lost the app signs in with a
 * recovery code, and replaces it with the password; for what else is lost there is `quayside user link`. The first app
 * of somebody who has none is set up with the password.
 */
import type { ChangedSecret } from '../../database/people/person.ts';
import { type Html, html } from '../../lib/html.ts';
import { sortableId } from '../../lib/id.ts';
import { facts } from '../../web/list.ts';
import { changeFields, commonChange, FIRST_FACTOR_PATH, type Plan, type Planned, type Review } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { codesShown, newFactor, secretShown } from '../link.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { whyWeak } from '../passwords.ts';
import { isFactorRequired, newRecoveryCodes, recoveryHash, secretOfForm, stepOf } from '../second-factor.ts';
import { badge, data } from '../show.ts';

const BACK = '/account';
/** From so few recovery codes on, the page says to make new ones. */
const FEW_CODES = 3;

const paths = {
  password: '/account/password',
  app: FIRST_FACTOR_PATH,
  codes: '/account/recovery-codes',
} as const;

export function accountFactorPages(deps: DashboardDeps): readonly CommonPage[] {
  const app = commonChange(deps, {
    path: paths.app,
    needs: 'to be signed in',
    plan: async (visit) => (visit.visitor.person.hasFactor ? planApp(deps, visit) : planFirstApp(deps, visit)),
  });
  return [
    commonChange(deps, {
      path: paths.password,
      needs: 'to be signed in',
      plan: async (visit) => planPassword(deps, visit),
    }),
    app,
    // Where somebody without a factor is led to.
    { ...app, method: 'get', answer: (visit) => app.answer({ ...visit, form: { once: sortableId(visit.nowMs) } }) },
    commonChange(deps, { path: paths.codes, needs: 'to be signed in', plan: async (visit) => planCodes(visit) }),
  ];
}

/** Shows how many recovery codes are left, and the buttons of each change. */
export async function factorSection({ database }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor, words } = visit;
  const left = await database.people.countRecoveryCodes(visitor.person.id);
  const few = left > FEW_CODES ? null : html` ${badge(words.say('account-factors.few'), 'attention')}`;
  const form = (which: keyof typeof paths) => html`<form method="post" action="${paths[which]}">${changeFields(visit)}
<button class="plain">${words.say(`account-factors.${which}`)}</button></form>`;
  return html`<section class="card" aria-labelledby="factors"><h2 id="factors">${words.say('account-factors.title')}</h2>
${visitor.session.isRecovered ? html`<p class="message attention">${words.say('account-factors.recovered')}</p>` : null}
${
  visitor.person.hasFactor
    ? html`<p class="hint">${words.say('account-factors.text')}</p>
${facts([[words.say('account-factors.left'), html`${data(left)}${few}`]])}
<div class="actions">${form('password')}${form('app')}${form('codes')}</div>`
    : html`<p class="hint">${words.say('link.later_hint')}</p>
<div class="actions"><a class="button" href="${paths.app}">${words.say('account-factors.first_button')}</a>${form('password')}</div>`
}</section>`;
}

/** What the changes have in common. `consequence` is what the page that confirms shows. */
const planOf = (
  { visitor: { person }, words }: Visit<null>,
  which: keyof typeof paths,
  command: string,
  review: Pick<Review, 'consequence' | 'asks'> & Partial<Pick<Review, 'needsSudo'>>,
): Pick<Plan, 'command' | 'target' | 'review'> => ({
  command,
  target: person.id,
  review: {
    title: words.say(`account-factors.${which}_title`),
    button: words.say(`account-factors.${which}_button`),
    back: BACK,
    needsSudo: true,
    ...review,
  },
});

/** The present password, for a password manager to fill in. */
const currentPassword = ({ visitor, words }: Visit<null>): Html =>
  html`<input type="hidden" name="username" autocomplete="username" value="${visitor.person.name}">
<label>${words.say('account-factors.current')} <input name="current" type="password" autocomplete="current-password" required></label>`;

/** Says what is wrong with the present password as it was typed; null if it is right. */
async function passwordFault(deps: DashboardDeps, visit: Visit<null>): Promise<string | null> {
  const { form, words } = visit;
  const isRight = await isOwnPassword(deps, visit, form.current ?? '');
  if (isRight === null) return words.say('sign-in.busy');
  return isRight ? null : words.say('account-factors.password_wrong');
}

/** The form that a password manager fills in; both passwords are typed on the page that confirms, and nowhere else. */
function planPassword(deps: DashboardDeps, visit: Visit<null>): Planned {
  const { visitor, form, words } = visit;
  const { password = '' } = form;
  const consequence = html`<p>${words.say('account-factors.password_text')}</p>
${currentPassword(visit)}
<label>${words.say('account-factors.new')} <input name="password" type="password" autocomplete="new-password" minlength="12" required></label>
<p class="hint">${words.say('link.hint')}</p>`;
  let stored = '';
  return {
    ...planOf(visit, 'password', 'change password', { consequence, asks: ['username', 'current', 'password'] }),
    async before() {
      const weak = whyWeak(words, password, visitor.person.name);
      if (weak !== null) return { fault: weak };
      const wrong = await passwordFault(deps, visit);
      if (wrong !== null) return { fault: wrong };
      const hash = await deps.passwords.hash(password);
      if (hash === null) return { fault: words.say('sign-in.busy') };
      stored = hash;
      return undefined;
    },
    act: async (database, act) =>
      saidIf(
        await database.people.changeSecret(visitor.session, { password: stored }, act),
        words.say('account-factors.password_saved'),
      ),
  };
}

/**
 * Checks the password of the person who is signed in. Attempts count together with those to sign in, and are counted
 * before they are checked.
 * @returns null while too many others are being computed
 */
async function isOwnPassword(
  { database, passwords }: DashboardDeps,
  { visitor: { person }, nowMs }: Visit<null>,
  password: string,
): Promise<boolean | null> {
  const waits = (await database.signIns.begin(person.id, nowMs)) > 0;
  const secrets = await database.signIns.findSecrets(person.name);
  return passwords.isRight(password, secrets && !waits ? secrets.password : null);
}

/**
 * The new secret belongs to one rendering of the form: nothing is stored until its code is typed. Who has signed in
 * with a recovery code has no app to prove, and types the password instead.
 */
function planApp(deps: DashboardDeps, visit: Visit<null>): Planned {
  const { visitor, form, nowMs, words } = visit;
  const { once = '', new_code = '' } = form;
  if (once === '') return { to: BACK };
  const totpSecret = secretOfForm(visitor.formToken, once);
  const totpStep = stepOf(totpSecret, new_code.replace(/\s/g, ''), nowMs, 0);
  const isLost = visitor.session.isRecovered;
  const consequence = html`<p>${words.say(isLost ? 'account-factors.lost_text' : 'account-factors.app_text')}</p>
${isLost ? currentPassword(visit) : null}
${secretShown(words, { url: deps.url, secret: totpSecret, name: visitor.person.name })}
<label>${words.say('account-factors.app_code')} <input name="new_code" dir="ltr" autocomplete="off" inputmode="numeric" pattern="[0-9 ]*" required></label>`;
  return {
    ...planOf(visit, 'app', 'replace authenticator app', {
      consequence,
      asks: ['username', 'current', 'new_code'],
      needsSudo: !isLost,
    }),
    async before() {
      const wrong = isLost ? await passwordFault(deps, visit) : null;
      if (wrong !== null) return { fault: wrong };
      return totpStep === null ? { fault: words.say('link.code_wrong') } : undefined;
    },
    async act(database, act) {
      if (totpStep === null) return null;
      const changed: ChangedSecret = { totpSecret, totpStep };
      return saidIf(
        await database.people.changeSecret(visitor.session, changed, act),
        words.say('account-factors.app_saved'),
      );
    },
  };
}

/** The first app of somebody who had none: the password proves who it is, and recovery codes come with it. */
function planFirstApp(deps: DashboardDeps, visit: Visit<null>): Planned {
  const { visitor, form, nowMs, words } = visit;
  const { once = '', new_code = '' } = form;
  if (once === '') return { to: paths.app };
  const isRequired = isFactorRequired(deps.config.networks);
  const totpSecret = secretOfForm(visitor.formToken, once);
  const codes = newRecoveryCodes();
  const first = newFactor(totpSecret, new_code, codes, nowMs);
  const consequence = html`<p>${words.say(isRequired ? 'account-factors.first_required' : 'account-factors.first_text')}</p>
${secretShown(words, { url: deps.url, secret: totpSecret, name: visitor.person.name })}
<label>${words.say('link.code')} <input name="new_code" dir="ltr" autocomplete="off" inputmode="numeric" pattern="[0-9 ]*" required></label>
${currentPassword(visit)}`;
  return {
    command: 'set up authenticator app',
    target: visitor.person.id,
    review: {
      title: words.say('account-factors.first_title'),
      button: words.say('account-factors.first_button'),
      back: isRequired ? null : BACK,
      needsSudo: false,
      consequence,
      asks: ['username', 'current', 'new_code'],
    },
    async before() {
      const wrong = await passwordFault(deps, visit);
      if (wrong !== null) return { fault: wrong };
      return first === null ? { fault: words.say('link.code_wrong') } : undefined;
    },
    async act(database, act) {
      if (first === null || !(await database.people.changeSecret(visitor.session, { first }, act))) return { to: BACK };
      return { title: words.say('link.codes'), content: codesShown(words, codes, '/') };
    },
  };
}

function planCodes(visit: Visit<null>): Planned {
  const { visitor, words } = visit;
  if (!visitor.person.hasFactor) return { to: paths.app };
  return {
    ...planOf(visit, 'codes', 'make recovery codes', {
      consequence: html`<p>${words.say('account-factors.codes_text')}</p>`,
    }),
    async act(database, act) {
      const codes = newRecoveryCodes();
      const isSet = await database.people.changeSecret(
        visitor.session,
        { recoveryHashes: codes.map(recoveryHash) },
        act,
      );
      return isSet ? { title: words.say('link.codes'), content: codesShown(words, codes, BACK) } : { to: BACK };
    },
  };
}

/** Goes back to the account page, which asks to sign in where the session has ended meanwhile. */
const saidIf = (isDone: boolean, said: string): Reply => (isDone ? { to: BACK, said } : { to: BACK });
