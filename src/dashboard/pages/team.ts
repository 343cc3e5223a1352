/**
 * The team of a store: who is a member, in which role, and inviting somebody by a one-time link. Nobody changes their
 * own role, and a store always has an owner.
 * @module
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

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, person: Person) => Promise<Planned>;

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
  ...(
    [
      ['role', planRole],
      ['remove', planRemoval],
      ['sign-out', planSignOut],
      ['link', planLink],
    ] as const
  ).map(([act, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/team/:person/${act}`,
      needs: 'store:manage',
      async plan(visit) {
        const members = await membersOf(deps.database, visit.at);
        const person = members.find(({ id }) => id === visit.params.person);
        return person ? planOf(deps, visit, person) : null;
      },
    }),
  ),
];

const roleIn = ({ memberships }: Person, { storeId }: StoreAt): StoreRole | null => {
  const own = memberships.find((one) => one.storeId === storeId);
  return own && own.role !== 'operator' ? own.role : null;
};

async function membersOf(database: Database, at: StoreAt): Promise<readonly Person[]> {
  const people = await database.listPeople();
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
    const open = await deps.database.listWebSessions(person.id, nowMs, sessionLimits);
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
      isOwn ? html`<a href="/account">${words.say('frame.account')}</a>` : memberForms(visit, person, open.length),
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
${roleChoice(words, visit.form.role ?? 'support')}
<p class="hint">${words.say('team.invite_hint')}</p>
<button>${words.say('frame.go_on')}</button></form>`,
  };
}

const roleChoice = (words: Words, chosen: string): Html =>
  html`<label>${words.say('general.role')} <select name="role">${storeRoles.map(
    (role) =>
      html`<option value="${role}"${role === chosen ? html` selected` : null}>${roleText(words, role)}</option>`,
  )}</select></label>`;

function memberForms(visit: Visit<StoreAt>, person: Person, sessions: number): Html {
  const { words } = visit;
  const form = (act: string, text: string, more: Html | null = null): Html =>
    html`<form method="post" action="${pathOf(visit.at)}/${person.id}/${act}">${changeFields(visit)}${more}<button class="plain">${text}</button></form>`;
  return html`<details><summary>${words.html('general.act_on', { act: words.say('general.change'), name: person.name })}</summary>
${form('role', words.say('team.change_role'), roleChoice(words, roleIn(person, visit.at) ?? 'support'))}
${sessions > 0 ? form('sign-out', words.say('team.end_sessions', { count: sessions })) : null}
${person.isReady ? null : form('link', words.say('team.new_link'))}
${form('remove', words.say('team.remove'))}</details>`;
}

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
      if (!(await database.addPerson({ id, name, membership, createdAtMs: nowMs }, act))) {
        return again(words.say('team.taken'));
      }
      await database.addSignInLink({ hash: hashOf(token), personId: id, salt: newToken(), expiresAtMs }, act);
      return linkPage(deps, visit, { name, token, expiresAtMs });
    },
  };
}

const planRole: PlanOf = async (deps, visit, person) => {
  const { at, form, visitor, words } = visit;
  const { name } = person;
  const role = storeRoles.find((one) => one === form.role);
  const before = roleIn(person, at);
  const again = (fault: string) => teamPage(deps, visit, fault);
  if (person.id === visitor.person.id) return again(words.say('team.own'));
  if (!role) return again(words.say('team.choose_role'));
  return {
    command: 'change role',
    target: person.id,
    review: {
      title: words.say('team.role_title', { name, role: words.say(`general.role_${role}`) }),
      consequence: facts([
        [words.say('team.now'), before === null ? words.say('general.none') : roleText(words, before)],
        [words.say('team.from_now'), roleText(words, role)],
      ]),
      button: words.say('team.change_role'),
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      if (role !== 'owner' && (await isLastOwner(database, at, person))) return again(words.say('team.last'));
      await database.setMembership(person.id, { role, storeId: at.storeId }, act);
      return { to: pathOf(at), said: words.say('team.role_set', { name, role: words.say(`general.role_${role}`) }) };
    },
  };
};

const planRemoval: PlanOf = async (deps, visit, person) => {
  const { at, visitor, words } = visit;
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
      await database.removeMembership(person.id, at.storeId, act);
      return { to: pathOf(at), said: words.say('team.removed', { name }) };
    },
  };
};

const planSignOut: PlanOf = async (_deps, { at, words }, person) => ({
  command: 'end sessions of member',
  target: person.id,
  review: null,
  async act(database, act) {
    const count = await database.endWebSessions(person.id, { allBut: '' }, act);
    return { to: pathOf(at), said: words.say('team.ended', { name: person.name, count }) };
  },
});

/** For somebody whose first link was not used: an account that is set up is opened again by the operator only. */
const planLink: PlanOf = async (deps, visit, person) => {
  const { at, nowMs, words } = visit;
  const isOnlyHere = person.memberships.every(({ storeId }) => storeId === at.storeId);
  if (person.isReady || !isOnlyHere) {
    return teamPage(deps, visit, words.say('team.by_operator'));
  }
  const token = newToken();
  const expiresAtMs = nowMs + LINK_LIFE_MS;
  return {
    command: 'make a new link',
    target: person.id,
    review: {
      title: words.say('team.new_link_title', { name: person.name }),
      consequence: html`<p>${words.say('team.earlier_ends')}</p>`,
      button: words.say('team.make_link'),
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      // They may have used the earlier link meanwhile.
      const now = (await membersOf(database, at)).find(({ id }) => id === person.id);
      if (!now || now.isReady) return teamPage(deps, visit, words.say('team.earlier_used'));
      await database.addSignInLink({ hash: hashOf(token), personId: person.id, salt: newToken(), expiresAtMs }, act);
      return linkPage(deps, visit, { name: person.name, token, expiresAtMs });
    },
  };
};
