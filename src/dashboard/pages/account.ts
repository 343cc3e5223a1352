/**
 * The account of the person who is signed in: roles and passkeys. Password, app and recovery codes are replaced with a
 * link.
 */
import { refuse, say } from '../../acts/act.ts';
import type { Passkey } from '../../database/column-values.ts';
import type { Person } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { badge, data, time } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { pageNamed } from '../frame.ts';
import { type Page, pathIn, type Reply, type Visit } from '../page.ts';
import { passkeyButton } from '../passkeys.ts';
import { CHANGE_PATH } from '../sign-in.ts';
import type { Words } from '../texts.ts';

/** From so few recovery codes on, the page says to make new ones. */
const FEW_CODES = 3;
const PASSKEY_NAME_CHARS_MAX = 40;

export const accountPages = (deps: DashboardDeps): readonly Page[] => [
  {
    method: 'get',
    path: '/',
    needs: 'to be signed in',
    async answer({ visitor, words, query }) {
      const { memberships } = visitor.person;
      const storeId = memberships.find((one) => one.storeId !== null)?.storeId;
      const isLive = deps.config.networks.some(({ mode }) => mode === 'live');
      const at = storeId ? ({ storeId, mode: isLive ? 'live' : 'test' } as const) : null;
      const text = query.get('q') ?? '';
      const named = text === '' ? null : pageNamed(deps.languages, text, { words, memberships, at });
      if (named !== null) return { to: named };
      if (text !== '' && at) return { to: `${pathIn(at, 'payments')}?q=${encodeURIComponent(text)}` };
      if (isOperator(visitor)) return { to: '/operator' };
      return { to: at ? pathIn(at, 'overview') : '/account' };
    },
  },
  ...pageWith(deps, { path: '/account', needs: 'to be signed in', answer: (visit) => accountPage(deps, visit) }, [
    ...[adding, removing],
  ]),
];

async function accountPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { visitor, words } = visit;
  const { person } = visitor;
  const names = new Map<string, string>();
  for (const { storeId } of person.memberships) {
    const store = storeId === null ? null : await deps.database.stores.find(storeId);
    if (store) names.set(store.id, store.name);
  }
  return {
    title: words.say('My account'),
    content: html`<section class="card">${facts([
      [words.say('Your name'), data(person.name)],
      [words.say('Roles'), rolesText(words, person.memberships, (id) => names.get(id) ?? id)],
    ])}
<p class="hint">${words.html('Lost the password, or the phone with the recovery codes? The operator makes you a new link: {command}.', { command: html`<code>quayside user link ${person.name}</code>` })}</p></section>
${factorSection(visit)}
${await passkeySection(deps, visit)}`,
  };
}

/** Shows how many recovery codes are left, and leads to their replacement. */
function factorSection({ visitor: { person }, words }: Visit<null>): Html {
  const { recoveryCodes, hasFactor } = person;
  const few = recoveryCodes > FEW_CODES ? null : html` ${badge(words.say('make new ones'), 'attention')}`;
  const state = hasFactor
    ? facts([[words.say('Recovery codes left'), html`${data(recoveryCodes)}${few}`]])
    : html`<p class="hint">${words.say('While every network is simulated, your password is enough. A second factor is required before a network with real transactions is used.')}</p>`;
  return section(
    'factors',
    words.say('Password and codes'),
    html`${state}<p><a class="button${hasFactor ? ' plain' : ''}" href="${CHANGE_PATH}">${words.say(hasFactor ? 'Change' : 'Set up the app')}</a></p>`,
  );
}

/**
 * Says which roles somebody has, and where.
 * @param nameOf what a store is called
 */
export function rolesText(
  words: Words,
  memberships: Person['memberships'],
  nameOf: (storeId: string) => string,
): Html | string {
  if (memberships.length === 0) return words.say('none');
  return html`${memberships.map(({ role, storeId }, at) => {
    const name = words.say(`general.role_${role}`);
    return html`${at === 0 ? '' : ', '}${storeId === null ? name : words.html('general.role_of', { role: name, store: nameOf(storeId) })}`;
  })}`;
}

const isOperator = ({ person }: Visit<null>['visitor']): boolean =>
  person.memberships.some(({ role }) => role === 'operator');

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
      charsMax: PASSKEY_NAME_CHARS_MAX,
      isProse: true,
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
    const isAdded = made && (await database.people.addPasskey(session, { ...made, name, createdAtMs: nowMs }, act));
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
    const own = await database.people.listPasskeys(visitor.person.id);
    return own.find((one) => one.id === id) ?? refuse('refused', say('That passkey is gone already.'));
  },
  review: ({ name, createdAtMs, usedAtMs }) => ({
    title: say('Remove the passkey “{name}”?', { name }),
    facts: [
      [say('Added'), { atMs: createdAtMs }],
      [say('Last sign-in with it'), usedAtMs === null ? say('not yet') : { atMs: usedAtMs }],
    ],
    notes: [say('It signs nobody in any more. Your other sessions end.')],
    button: say('Remove it'),
    isDangerous: true,
  }),
  async run({ database, visit, act }, { id, name }) {
    await database.people.removePasskey(visit.visitor.session, id, act);
    return { said: say('The passkey “{name}” is removed.', { name }), json: {} };
  },
});
const adding = formOf(addPasskey, { path: '/account/passkeys', inputs: ['name', 'passkey'] });
const removing = formOf(removePasskey, { path: '/account/passkeys/remove', inputs: ['id'] });

/** Renders the person's passkeys, and the form for another one. */
async function passkeySection({ database, passkeys }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { visitor, words } = visit;
  if (!visitor.person.hasFactor) return html``;
  const own = await database.people.listPasskeys(visitor.person.id);
  const remove = { button: words.say('Remove'), look: 'small' } as const;
  const asked = passkeys.creation(visitor.person, own, purposeFor(visit));
  const add = adding.show(visit, {
    button: null,
    inputs: ['name'],
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
