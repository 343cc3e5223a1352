/**
 * The account of the person who is signed in: roles, and where else the account is signed in.
 */
import type { Person, WebSession } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { pageWith } from '../act-form.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { formTokenField, languageSwitch } from '../frame.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { ago, badge, data, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { sessionLimits } from '../web-session.ts';
import { factorSection, passkeyForms, passkeySection, secretPages } from './account-factors.ts';

export const accountPages = (deps: DashboardDeps): readonly Page[] => [
  ...secretPages(deps),
  {
    method: 'get',
    path: '/',
    needs: 'to be signed in',
    async answer({ visitor }) {
      const { person } = visitor;
      const store = person.memberships.find(({ storeId }) => storeId !== null);
      if (isOperator(visitor)) return { to: '/operator' };
      const isLive = deps.config.networks.some(({ mode }) => mode === 'live');
      return { to: store ? `/s/${store.storeId}/${isLive ? 'live' : 'test'}/overview` : '/account' };
    },
  },
  ...pageWith(deps, { path: '/account', needs: 'to be signed in', answer: (visit) => accountPage(deps, visit) }, [
    ...passkeyForms,
  ]),
  {
    method: 'post',
    path: '/account/sessions/end',
    needs: 'to be signed in',
    async answer({ visitor: { person, session } }) {
      const act = actOf(person, 'end sessions', deps.clock);
      await deps.database.signIns.endWebSessions(person.id, { allBut: session.hash }, act);
      return { to: '/account' };
    },
  },
];

async function accountPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { visitor, nowMs, query, words } = visit;
  const { person, session, formToken } = visitor;
  const chosen = deps.languages.all.find(({ code }) => code === query.get('lang'));
  if (chosen) {
    await deps.database.people.setLanguage(person.id, chosen.code, actOf(person, 'set language', deps.clock));
    return { to: '/account', said: chosen.say('The language is saved.') };
  }
  const open = await deps.database.signIns.listWebSessions(person.id, nowMs, sessionLimits);
  const end = html`<form method="post" action="/account/sessions/end">
${formTokenField(formToken)}<button class="plain">${words.say('Sign out everywhere else')}</button></form>`;
  const names = new Map<string, string>();
  for (const { storeId } of person.memberships) {
    const store = storeId === null ? null : await deps.database.stores.find(storeId);
    if (store) names.set(store.id, store.name);
  }
  const title = words.say('Where you are signed in');
  const note = isOperator(visitor)
    ? html`<p class="hint">${words.say('The pages about the installation are in English.')}</p>`
    : null;
  return {
    title: words.say('My account'),
    content: html`<section class="card">${facts([
      [words.say('Your name'), data(person.name)],
      [words.say('Roles'), rolesText(words, person.memberships, (id) => names.get(id) ?? id)],
    ])}
<p class="hint">${words.html('Lost the password, or the phone with the recovery codes? Whoever runs this installation makes you a new link: {command}.', { command: html`<code>quayside user link ${person.name}</code>` })}</p></section>
${factorSection(visit)}
${await passkeySection(deps, visit)}
${section('language', words.say('Language'), html`${languageSwitch(deps.languages, words)}${note}`)}
<section class="card" aria-labelledby="open"><h2 id="open">${title}</h2>
${list<WebSession>({
  caption: title,
  columns: [
    [words.say('Signed in since'), ({ startedAtMs }) => time(startedAtMs)],
    [words.say('Last seen'), ({ seenAtMs }) => ago(words, seenAtMs, nowMs)],
    [words.say('Address'), ({ address }) => network(address)],
    [
      words.say('Browser'),
      ({ device, hash }) =>
        html`${data(device)} ${hash === session.hash ? badge(words.say('this browser'), 'good') : null}`,
    ],
  ],
  rows: open,
  empty: '',
})}
${open.length > 1 ? end : null}</section>`,
  };
}

/** Shows an IP address, which breaks between its groups only, if at all. */
const network = (address: string): Html =>
  html`<bdi class="network">${address.split(/(?<=:)/).map((part) => html`${part}<wbr>`)}</bdi>`;

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
