/** People of a store, on its page of settings: members with their roles, and the one-time link for a new person. */
import { linkPerson, membersOf, removePerson } from '../../acts/people.ts';
import type { Person } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { formOf } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StoreAt, Visit } from '../page.ts';
import { ago, badge, data, time } from '../show.ts';
import { sessionLimits } from '../web-session.ts';

const PATH = '/s/:store/:mode/settings/people';

const adding = formOf(linkPerson, { path: PATH, inputs: ['name', 'role'] });
const removing = formOf(removePerson, { path: `${PATH}/remove`, inputs: ['name'] });

/** Forms of the page of settings. */
export const teamForms = [adding, removing];

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
    return html`${own === undefined ? null : words.say(`general.role_${own}`)} ${isReady ? null : badge(words.say('link not used yet'), 'wait')}`;
  };
  const people = list<Member>({
    caption: words.say('People'),
    columns: [
      [words.say('Name'), (one) => (isOwn(one) ? words.html('{name} (you)', { name: one.name }) : data(one.name))],
      [words.say('Role'), role, 'lead'],
      [words.say('Created'), ({ createdAtMs }) => time(createdAtMs)],
      [
        words.say('Last seen'),
        ({ seenAtMs }) => (seenAtMs === null ? words.say('not signed in') : ago(words, seenAtMs, nowMs)),
      ],
      [
        words.say('Change'),
        (one) =>
          isOwn(one)
            ? html`<a href="/account">${words.say('My account')}</a>`
            : removing.show(visit, {
                button: words.say('Remove from the team'),
                given: { name: one.name },
                look: 'small',
              }),
      ],
    ],
    rows: members,
    empty: '',
  });
  const invite = adding.show(visit, {
    button: words.say('Go on'),
    texts: { role: 'staff' },
    below: html`<p class="hint">${words.say('You get a link to hand over. It works once, for a day, and sets their password and second factor.')}</p>`,
    opens: words.say('Add somebody'),
  });
  return section('people', words.say('People'), html`${people}<div class="card">${invite}</div>`, 'plain');
}
