/** People of a store, on its page of settings: members with their roles, and the one-time link for a new person. */
import { linkPerson, membersOf, PERSON_NAME_CHARS_MAX, removePerson, roleWords } from '../../acts/people.ts';
import { storeRoles } from '../../core/access.ts';
import type { Person } from '../../database/people/person.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { actFacts, planAct } from '../act-form.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { ago, badge, data, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { sessionLimits } from '../web-session.ts';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/settings`;

/** Shows the page of settings again, with what is wrong. */
type Back = (visit: Visit<StoreAt>, fault: Html) => Promise<Reply>;

export const teamChanges = (deps: DashboardDeps, back: Back): readonly StorePage[] => [
  storeChange(deps, {
    path: '/s/:store/:mode/settings/people',
    needs: linkPerson.needs,
    plan: (visit) => planLink(deps, visit, back),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/settings/people/:person/remove',
    needs: removePerson.needs,
    plan: (visit) => planRemoval(deps, visit, back),
  }),
];

type Member = Person & Readonly<{ seenAtMs: number | null }>;

export async function teamSection(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html> {
  const { at, visitor, nowMs, words } = visit;
  const members: Member[] = [];
  for (const person of await membersOf(deps.database.people, at.storeId)) {
    const open = await deps.database.signIns.listWebSessions(person.id, nowMs, sessionLimits);
    members.push({ ...person, seenAtMs: open.length === 0 ? null : Math.max(...open.map((one) => one.seenAtMs)) });
  }
  const isOwn = ({ id }: Person): boolean => id === visitor.person.id;
  const role = ({ memberships, isReady }: Person): Html => {
    const own = memberships.find(({ storeId }) => storeId === at.storeId)?.role;
    return html`${own === undefined ? null : words.say(`general.role_${own}`)} ${isReady ? null : badge(words.say('team.unused'), 'wait')}`;
  };
  const people = list<Member>({
    caption: words.say('frame.team'),
    columns: [
      [words.say('general.name'), (one) => (isOwn(one) ? words.html('team.you', { name: one.name }) : data(one.name))],
      [words.say('general.role'), role, 'lead'],
      [words.say('general.created'), ({ createdAtMs }) => time(createdAtMs)],
      [
        words.say('team.seen'),
        ({ seenAtMs }) => (seenAtMs === null ? words.say('team.signed_out') : ago(words, seenAtMs, nowMs)),
      ],
      [
        words.say('general.change'),
        (one) => (isOwn(one) ? html`<a href="/account">${words.say('frame.account')}</a>` : removeForm(visit, one)),
      ],
    ],
    rows: members,
    empty: '',
  });
  const invite = html`<details class="card"${visit.form.role === undefined ? null : html` open`}><summary>${words.say('team.invite')}</summary>
<form method="post" action="${pathOf(at)}/people">${changeFields(visit)}
<label>${words.say('general.name')} <input name="name" maxlength="${PERSON_NAME_CHARS_MAX}" autocomplete="off" value="${visit.form.role === undefined ? '' : (visit.form.name ?? '')}" required></label>
${roleChoice(words, visit.form.role ?? 'staff')}
<p class="hint">${words.say('team.invite_hint')}</p>
<button class="plain">${words.say('frame.go_on')}</button></form></details>`;
  return section('people', words.say('frame.team'), html`${people}${invite}`, 'plain');
}

const roleChoice = (words: Words, chosen: string): Html =>
  html`<label>${words.say('general.role')} <select name="role">${storeRoles.map(
    (role) =>
      html`<option value="${role}"${role === chosen ? html` selected` : null}>${sentenceText(words, roleWords[role])}</option>`,
  )}</select></label>`;

const removeForm = (visit: Visit<StoreAt>, person: Person): Html =>
  html`<form method="post" action="${pathOf(visit.at)}/people/${person.id}/remove">${changeFields(visit)}<button class="plain small">${visit.words.say('team.remove')}</button></form>`;

function planLink(deps: DashboardDeps, visit: Visit<StoreAt>, back: Back): Promise<Planned> {
  const { at, form, words } = visit;
  return planAct(deps, visit, linkPerson, {
    texts: { name: form.name, role: form.role },
    back: pathOf(at),
    refused: (fault) => back(visit, fault),
    page: ({ said, facts = [] }) => ({
      title: words.say('team.link_title', { name: form.name ?? '' }),
      content: html`<section class="card"><p class="message attention">${sentence(words, said)}</p>${actFacts(visit, facts)}
<p><a class="button" href="${pathOf(at)}">${words.say('team.copied')}</a></p></section>`,
    }),
  });
}

async function planRemoval(deps: DashboardDeps, visit: Visit<StoreAt>, back: Back): Promise<Planned> {
  const { at, params } = visit;
  const person = (await membersOf(deps.database.people, at.storeId)).find(({ id }) => id === params.person);
  if (!person) return null;
  return planAct(deps, visit, removePerson, {
    texts: { name: person.name },
    back: pathOf(at),
    refused: (fault) => back(visit, fault),
  });
}
