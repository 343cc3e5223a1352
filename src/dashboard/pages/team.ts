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
import { ago, badge, copied, facts, faultMessage, table, time } from '../show.ts';
import { hashOf, newToken, sessionLimits } from '../web-session.ts';

const LINK_LIFE_MS = 24 * 3_600_000;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;
const MEMBERS_MAX = 100;

const roleTexts: Readonly<Record<StoreRole, string>> = {
  owner: 'everything about the store',
  developer: 'keys, webhooks and payments of test mode',
  accountant: 'reads payments and refunds',
  support: 'reads payments, asks for refunds, sends webhooks again',
};

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
  const { at, visitor, nowMs } = visit;
  const members = await membersOf(deps.database, at);
  const rows: (readonly (Html | string)[])[] = [];
  for (const person of members) {
    const open = await deps.database.listWebSessions(person.id, nowMs, sessionLimits);
    const seen =
      open.length === 0 ? 'not signed in' : ago(visit.words, Math.max(...open.map(({ seenAtMs }) => seenAtMs)), nowMs);
    const isOwn = person.id === visitor.person.id;
    rows.push([
      isOwn ? html`${person.name} (you)` : person.name,
      html`<span>${roleIn(person, at) ?? ''} ${person.isReady ? null : badge('link not used yet', 'wait')}</span>`,
      time(person.createdAtMs),
      seen,
      isOwn ? html`<a href="/account">My account</a>` : memberForms(visit, person, open.length),
    ]);
  }
  return {
    title: 'Team',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${table('Team', ['Name', 'Role', 'Since', 'Last seen', 'Change'], rows)}
<form method="post" action="${pathOf(at)}" class="card" aria-labelledby="invite"><h2 id="invite">Invite somebody</h2>${changeFields(visit)}
<label>Name <input name="name" maxlength="64" autocomplete="off" value="${visit.form.name ?? ''}" required></label>
${roleChoice(visit.form.role ?? 'support')}
<p class="hint">You get a link to hand over. It works once, for a day, and sets their password and second factor.</p>
<button>Go on</button></form>`,
  };
}

const roleChoice = (chosen: string): Html =>
  html`<label>Role <select name="role">${storeRoles.map(
    (role) =>
      html`<option value="${role}"${role === chosen ? html` selected` : null}>${role}: ${roleTexts[role]}</option>`,
  )}</select></label>`;

function memberForms(visit: Visit<StoreAt>, person: Person, sessions: number): Html {
  const form = (act: string, text: string, more: Html | null = null): Html =>
    html`<form method="post" action="${pathOf(visit.at)}/${person.id}/${act}">${changeFields(visit)}${more}<button class="plain">${text}</button></form>`;
  return html`<details><summary>Change ${person.name}</summary>
${form('role', 'Change the role', roleChoice(roleIn(person, visit.at) ?? 'support'))}
${sessions > 0 ? form('sign-out', sessions === 1 ? 'End their session' : `End their ${sessions} sessions`) : null}
${person.isReady ? null : form('link', 'Make a new link')}
${form('remove', 'Remove from the team')}</details>`;
}

const linkPage = ({ url }: DashboardDeps, at: StoreAt, name: string, token: string, expiresAtMs: number): Reply => ({
  title: `The link for ${name}`,
  content: html`<section class="card"><p class="message attention">Hand this over to ${name} alone: whoever opens it first becomes ${name}. It is not shown
again.</p>${copied('One-time link', `${url}/link/${token}`)}
${facts([['Works once, until', time(expiresAtMs)]])}
<p><a class="button" href="${pathOf(at)}">I have copied it</a></p></section>`,
});

async function planInvitation(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs } = visit;
  const name = (form.name ?? '').trim();
  const role = storeRoles.find((one) => one === form.role);
  const again = (fault: string) => teamPage(deps, visit, fault);
  if (!NAME.test(name)) return again('A name has letters, digits, spaces and . _ @ -, at most 64.');
  if (!role) return again('Choose a role.');
  const id = `usr_${idOfForm(visitor, form.once, nowMs)}`;
  const members = await membersOf(deps.database, at);
  if (members.some((person) => person.id === id)) {
    return { to: pathOf(at), said: 'This invitation was made already. Its link was shown then.' };
  }
  if (members.length >= MEMBERS_MAX) return again(`A store has at most ${MEMBERS_MAX} members.`);
  const token = newToken();
  const expiresAtMs = nowMs + LINK_LIFE_MS;
  return {
    command: 'invite to team',
    target: id,
    review: {
      title: `Invite ${name}?`,
      consequence: facts([
        ['Name', name],
        ['Role', `${role}: ${roleTexts[role]}`],
      ]),
      button: 'Make the link',
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      const membership = { role, storeId: at.storeId };
      if (!(await database.addPerson({ id, name, membership, createdAtMs: nowMs }, act))) {
        return again(
          'That name is taken. Choose another; whoever runs this installation can give an existing account a role.',
        );
      }
      await database.addSignInLink({ hash: hashOf(token), personId: id, expiresAtMs }, act);
      return linkPage(deps, at, name, token, expiresAtMs);
    },
  };
}

const OWN = 'Nobody changes their own role. Another owner can.';
const LAST = 'The store would have no owner who can sign in. Make somebody else an owner first.';

const planRole: PlanOf = async (deps, visit, person) => {
  const { at, form, visitor } = visit;
  const role = storeRoles.find((one) => one === form.role);
  const again = (fault: string) => teamPage(deps, visit, fault);
  if (person.id === visitor.person.id) return again(OWN);
  if (!role) return again('Choose a role.');
  return {
    command: 'change role',
    target: person.id,
    review: {
      title: `Make ${person.name} ${role}?`,
      consequence: facts([
        ['Now', roleIn(person, at) ?? 'none'],
        ['From now on', `${role}: ${roleTexts[role]}`],
      ]),
      button: 'Change the role',
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      if (role !== 'owner' && (await isLastOwner(database, at, person))) return again(LAST);
      await database.setMembership(person.id, { role, storeId: at.storeId }, act);
      return { to: pathOf(at), said: `${person.name} is ${role} now.` };
    },
  };
};

const planRemoval: PlanOf = async (deps, visit, person) => {
  const { at, visitor } = visit;
  if (person.id === visitor.person.id) return teamPage(deps, visit, OWN);
  return {
    command: 'remove from team',
    target: person.id,
    review: {
      title: `Remove ${person.name}?`,
      consequence: html`<p>${person.name} sees and changes nothing of this store any more. API keys and webhook secrets that they have seen
stay valid: make new ones.</p>`,
      button: 'Remove from the team',
      back: pathOf(at),
      needsSudo: true,
      typed: person.name,
      isDangerous: true,
    },
    async act(database, act) {
      if (await isLastOwner(database, at, person)) return teamPage(deps, visit, LAST);
      await database.removeMembership(person.id, at.storeId, act);
      return { to: pathOf(at), said: `${person.name} is removed.` };
    },
  };
};

const planSignOut: PlanOf = async (_deps, { at }, person) => ({
  command: 'end sessions of member',
  target: person.id,
  review: null,
  async act(database, act) {
    const count = await database.endWebSessions(person.id, { allBut: '' }, act);
    return { to: pathOf(at), said: `${person.name} is signed out (${count}).` };
  },
});

/** For somebody whose first link was not used: an account that is set up is opened again by the operator only. */
const planLink: PlanOf = async (deps, visit, person) => {
  const { at, nowMs } = visit;
  const isOnlyHere = person.memberships.every(({ storeId }) => storeId === at.storeId);
  if (person.isReady || !isOnlyHere) {
    return teamPage(deps, visit, 'A new link for this account is made by whoever runs this installation.');
  }
  const token = newToken();
  const expiresAtMs = nowMs + LINK_LIFE_MS;
  return {
    command: 'make a new link',
    target: person.id,
    review: {
      title: `A new link for ${person.name}?`,
      consequence: html`<p>The earlier link ends.</p>`,
      button: 'Make the link',
      back: pathOf(at),
      needsSudo: true,
    },
    async act(database, act) {
      // They may have used the earlier link meanwhile.
      const now = (await membersOf(database, at)).find(({ id }) => id === person.id);
      if (!now || now.isReady) return teamPage(deps, visit, 'The earlier link was used.');
      await database.addSignInLink({ hash: hashOf(token), personId: person.id, expiresAtMs }, act);
      return linkPage(deps, at, person.name, token, expiresAtMs);
    },
  };
};
