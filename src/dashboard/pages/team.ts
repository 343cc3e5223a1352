/**
 * The team of a store: who is a member, in which role, and the one-time link for a new person.
 */
import { linkPerson, membersOf, PERSON_NAME_CHARS_MAX, removePerson, roleWords } from '../../acts/people.ts';
import { storeRoles } from '../../core/access.ts';
import type { Person } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { actFacts, planAct } from '../act-form.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { ago, badge, data, faultMessage, table, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { sessionLimits } from '../web-session.ts';

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/team`;

export const teamPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/team',
    needs: 'store:manage',
    answer: (visit) => teamPage(deps, visit, null),
  },
  storeChange(deps, {
    path: '/s/:store/:mode/team',
    needs: linkPerson.needs,
    plan: (visit) => planLink(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/team/:person/remove',
    needs: removePerson.needs,
    plan: (visit) => planRemoval(deps, visit),
  }),
];

async function teamPage(deps: DashboardDeps, visit: Visit<StoreAt>, fault: Html | string | null): Promise<Reply> {
  const { at, visitor, nowMs, words } = visit;
  const members = await membersOf(deps.database, at.storeId);
  const rows: (readonly (Html | string)[])[] = [];
  for (const person of members) {
    const open = await deps.database.signIns.listWebSessions(person.id, nowMs, sessionLimits);
    const seen =
      open.length === 0
        ? words.say('team.signed_out')
        : ago(words, Math.max(...open.map(({ seenAtMs }) => seenAtMs)), nowMs);
    const isOwn = person.id === visitor.person.id;
    const role = person.memberships.find(({ storeId }) => storeId === at.storeId)?.role;
    rows.push([
      isOwn ? words.html('team.you', { name: person.name }) : data(person.name),
      html`<span>${role === undefined ? null : words.say(`general.role_${role}`)} ${person.isReady ? null : badge(words.say('team.unused'), 'wait')}</span>`,
      time(person.createdAtMs),
      seen,
      isOwn ? html`<a href="/account">${words.say('frame.account')}</a>` : removeForm(visit, person),
    ]);
  }
  return {
    title: words.say('frame.team'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${table(
      words.say('frame.team'),
      [
        words.say('general.name'),
        words.say('general.role'),
        words.say('general.created'),
        words.say('team.seen'),
        words.say('general.change'),
      ],
      rows,
    )}
<form method="post" action="${pathOf(at)}" class="card" aria-labelledby="invite"><h2 id="invite">${words.say('team.invite')}</h2>${changeFields(visit)}
<label>${words.say('general.name')} <input name="name" maxlength="${PERSON_NAME_CHARS_MAX}" autocomplete="off" value="${visit.form.name ?? ''}" required></label>
${roleChoice(words, visit.form.role ?? 'staff')}
<p class="hint">${words.say('team.invite_hint')}</p>
<button>${words.say('frame.go_on')}</button></form>`,
  };
}

const roleChoice = (words: Words, chosen: string): Html =>
  html`<label>${words.say('general.role')} <select name="role">${storeRoles.map(
    (role) =>
      html`<option value="${role}"${role === chosen ? html` selected` : null}>${sentenceText(words, roleWords[role])}</option>`,
  )}</select></label>`;

const removeForm = (visit: Visit<StoreAt>, person: Person): Html =>
  html`<form method="post" action="${pathOf(visit.at)}/${person.id}/remove">${changeFields(visit)}<button class="plain">${visit.words.say('team.remove')}</button></form>`;

function planLink(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, words } = visit;
  return planAct(deps, visit, linkPerson, {
    texts: { name: form.name, role: form.role },
    back: pathOf(at),
    refused: (fault) => teamPage(deps, visit, fault),
    page: ({ said, facts = [] }) => ({
      title: words.say('team.link_title', { name: form.name ?? '' }),
      content: html`<section class="card"><p class="message attention">${sentence(words, said)}</p>${actFacts(visit, facts)}
<p><a class="button" href="${pathOf(at)}">${words.say('team.copied')}</a></p></section>`,
    }),
  });
}

async function planRemoval(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, params } = visit;
  const person = (await membersOf(deps.database, at.storeId)).find(({ id }) => id === params.person);
  if (!person) return null;
  return planAct(deps, visit, removePerson, {
    texts: { name: person.name },
    back: pathOf(at),
    refused: (fault) => teamPage(deps, visit, fault),
  });
}
