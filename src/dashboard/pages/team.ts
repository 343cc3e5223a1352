/**
 * The team of a store: who is a member, in which role, and the one-time link for a new person. Nobody removes
 * themselves, and a store always has an owner.
 */
import { type StoreRole, storeRoles } from '../../core/access.ts';
import type { Database } from '../../database/database.ts';
import type { Person } from '../../database/people.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { ago, badge, copied, data, facts, faultMessage, table, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { hashOf, newToken, sessionLimits } from '../web-session.ts';

const LINK_LIFE_MS = 24 * 3_600_000;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;
const MEMBERS_MAX = 100;

/** Names a role and what it may. */
const roleText = (words: Words, role: StoreRole): string =>
  words.say('team.role_is', { role: words.say(`general.role_${role}`), may: words.say(`team.role_${role}`) });

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
    needs: 'store:manage',
    plan: (visit) => planInvitation(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/team/:person/remove',
    needs: 'store:manage',
    plan: (visit) => planRemoval(deps, visit),
  }),
];

const roleIn = ({ memberships }: Person, { storeId }: StoreAt): StoreRole | null => {
  const own = memberships.find((one) => one.storeId === storeId);
  return own && own.role !== 'operator' ? own.role : null;
};

async function membersOf(database: Database, at: StoreAt): Promise<readonly Person[]> {
  const people = await database.people.list();
  return people.filter((person) => person.removedAtMs === null && roleIn(person, at) !== null);
}

/** Whether the store would have no owner without this one who can sign in. */
async function isLastOwner(database: Database, at: StoreAt, person: Person): Promise<boolean> {
  const members = await membersOf(database, at);
  const others = members.filter((one) => one.id !== person.id && one.isReady && roleIn(one, at) === 'owner');
  return roleIn(person, at) === 'owner' && others.length === 0;
}

async function teamPage(deps: DashboardDeps, visit: Visit<StoreAt>, fault: string | null): Promise<Reply> {
  const { at, visitor, nowMs, words } = visit;
  const members = await membersOf(deps.database, at);
  const rows: (readonly (Html | string)[])[] = [];
  for (const person of members) {
    const open = await deps.database.signIns.listWebSessions(person.id, nowMs, sessionLimits);
    const seen =
      open.length === 0
        ? words.say('team.signed_out')
        : ago(words, Math.max(...open.map(({ seenAtMs }) => seenAtMs)), nowMs);
    const isOwn = person.id === visitor.person.id;
    const role = roleIn(person, at);
    rows.push([
      isOwn ? words.html('team.you', { name: person.name }) : data(person.name),
      html`<span>${role && words.say(`general.role_${role}`)} ${person.isReady ? null : badge(words.say('team.unused'), 'wait')}</span>`,
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
<label>${words.say('general.name')} <input name="name" maxlength="64" autocomplete="off" value="${visit.form.name ?? ''}" required></label>
${roleChoice(words, visit.form.role ?? 'staff')}
<p class="hint">${words.say('team.invite_hint')}</p>
<button>${words.say('frame.go_on')}</button></form>`,
  };
}

const roleChoice = (words: Words, chosen: string): Html =>
  html`<label>${words.say('general.role')} <select name="role">${storeRoles.map(
    (role) =>
      html`<option value="${role}"${role === chosen ? html` selected` : null}>${roleText(words, role)}</option>`,
  )}</select></label>`;

const removeForm = (visit: Visit<StoreAt>, person: Person): Html =>
  html`<form method="post" action="${pathOf(visit.at)}/${person.id}/remove">${changeFields(visit)}<button class="plain">${visit.words.say('team.remove')}</button></form>`;

type NewLink = Readonly<{ name: string; token: string; expiresAtMs: number }>;

const linkPage = (
  { url }: DashboardDeps,
  { at, words }: Visit<StoreAt>,
  { name, token, expiresAtMs }: NewLink,
): Reply => ({
  title: words.say('team.link_title', { name }),
  content: html`<section class="card"><p class="message attention">${words.html('team.hand_over', { name })}</p>${copied(words.say('team.link'), `${url}/link/${token}`)}
${facts([[words.say('team.works_until'), time(expiresAtMs)]])}
<p><a class="button" href="${pathOf(at)}">${words.say('team.copied')}</a></p></section>`,
});

async function planInvitation(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs, words } = visit;
  const name = (form.name ?? '').trim();
  const role = storeRoles.find((one) => one === form.role);
  const again = (fault: string) => teamPage(deps, visit, fault);
  if (!NAME.test(name)) return again(words.say('team.bad_name'));
  if (!role) return again(words.say('team.choose_role'));
  const id = `usr_${idOfForm(visitor, form.once, nowMs)}`;
  const members = await membersOf(deps.database, at);
  if (members.some((person) => person.id === id)) {
    return { to: pathOf(at), said: words.say('team.invited_already') };
  }
  if (members.length >= MEMBERS_MAX) return again(words.say('team.too_many', { count: MEMBERS_MAX }));
  const token = newToken();
  const expiresAtMs = nowMs + LINK_LIFE_MS;
  return {
    command: 'invite to team',
    target: id,
    review: {
      title: words.say('team.invite_title', { name }),
      consequence: facts([
        [words.say('general.name'), data(name)],
        [words.say('general.role'), roleText(words, role)],
      ]),
      button: words.say('team.make_link'),
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      const membership = { role, storeId: at.storeId };
      if (!(await database.people.add({ id, name, membership, createdAtMs: nowMs }, act))) {
        return again(words.say('team.taken'));
      }
      await database.signIns.addLink({ hash: hashOf(token), personId: id, salt: newToken(), expiresAtMs }, act);
      return linkPage(deps, visit, { name, token, expiresAtMs });
    },
  };
}

async function planRemoval(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, params, visitor, words } = visit;
  const person = (await membersOf(deps.database, at)).find(({ id }) => id === params.person);
  if (!person) return null;
  const { name } = person;
  if (person.id === visitor.person.id) return teamPage(deps, visit, words.say('team.own'));
  return {
    command: 'remove from team',
    target: person.id,
    review: {
      title: words.say('team.remove_title', { name }),
      consequence: html`<p>${words.html('team.remove_text', { name })}</p>`,
      button: words.say('team.remove'),
      back: pathOf(at),
      needsSudo: true,
      typed: name,
      isDangerous: true,
    },
    async act(database, act) {
      if (await isLastOwner(database, at, person)) return teamPage(deps, visit, words.say('team.last'));
      // An account without any role would only keep its name from being given again.
      if (person.memberships.length === 1) await database.people.remove(person.id, act);
      else await database.people.removeMembership(person.id, at.storeId, act);
      return { to: pathOf(at), said: words.say('team.removed', { name }) };
    },
  };
}
