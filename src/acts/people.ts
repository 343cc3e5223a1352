/** Links for people, and their removal. A store’s owner does both for its members. */
import { type Membership, type Role, storeRoles } from '../core/access.ts';
import type { People } from '../database/database.ts';
import { type Person, SANDBOX_PERSON } from '../database/people.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { type Context, defineAct, isRefusal, oneOf, type Refusal, refuse, type Sentence, say, textOf } from './act.ts';
import { storeField, storeOf } from './stores.ts';

const LINK_LIFE_MS = 24 * 3_600_000;
const PERSON_NAME_CHARS_MAX = 64;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;
const MEMBERS_MAX = 100;
const roles: readonly Role[] = ['operator', ...storeRoles];

const roleWords: Readonly<Record<Role, Sentence>> = {
  operator: say('operator'),
  owner: say('owner: everything about the store'),
  staff: say('staff: reads payments, asks for refunds, sends webhooks again'),
  accountant: say('accountant: reads and exports payments and refunds'),
};

const roleIn = ({ memberships }: Person, storeId: string): Role | null =>
  memberships.find((one) => one.storeId === storeId)?.role ?? null;

/** Returns the people who are members of a store. */
export async function membersOf(people: People, storeId: string): Promise<readonly Person[]> {
  return (await people.list()).filter((person) => person.removedAtMs === null && roleIn(person, storeId) !== null);
}

/** `id` is of a new person if `person` is null. `memberships` are given besides those that the person has. */
type LinkPlan = Readonly<{
  id: string;
  name: string;
  person: Person | null;
  memberships: readonly Membership[];
  expiresAtMs: number;
}>;

const readRole = oneOf(roles);
const readName = (text: string): string | Sentence =>
  NAME.test(text) ? text : say('A name has letters, digits, spaces and . _ @ -, at most 64.');

export const linkPerson = defineAct({
  name: 'user link',
  summary: 'Print a one-time link that sets a person’s password and second factor. Earlier links and sessions end.',
  needs: 'store:manage',
  asks: 'second factor',
  fields: {
    name: {
      label: say('Name'),
      help: 'what the person signs in with',
      isArgument: true,
      charsMax: PERSON_NAME_CHARS_MAX,
      isProse: true,
      read: readName,
    },
    role: {
      label: say('Role'),
      help: 'of a new person or besides other roles; the first person is operator and owner of the only store',
      choices: roles,
      offers: Object.fromEntries(storeRoles.map((role) => [role, roleWords[role]])),
      read: readRole,
    },
    store: storeField,
  },
  async plan(context, { name, role, store }): Promise<LinkPlan | Refusal> {
    const { database, scope, newId, nowMs } = context;
    const person = await database.people.find(name);
    const id = person?.id ?? `usr_${newId}`;
    if (scope && person && id !== `usr_${newId}`) return taken;
    if (scope && (await membersOf(database.people, scope.storeId)).length >= MEMBERS_MAX) {
      return refuse('refused', say('A store has at most {count} members.', { count: MEMBERS_MAX }));
    }
    const memberships = await membershipsOf(context, person, role, store);
    if (isRefusal(memberships)) return memberships;
    return { id, name: person?.name ?? name, person, memberships, expiresAtMs: nowMs + LINK_LIFE_MS };
  },
  review: ({ id, name, person, memberships }) => ({
    title: person ? say('Make a new link for {name}?', { name }) : say('Add {name}?', { name }),
    target: id,
    facts: [[say('Name'), name], ...memberships.map(({ role }) => [say('Role'), roleWords[role]] as const)],
    button: say('Make the link'),
  }),
  async run({ database, act, dashboardUrl, newId, nowMs }, { id, name, person, memberships, expiresAtMs }) {
    if (person && id === `usr_${newId}`) {
      return { said: say('This link was made already. It was shown then.'), json: { name }, isRepeated: true };
    }
    const [first, ...others] = memberships;
    const isNew = person === null && first !== undefined;
    if (isNew && !(await database.people.add({ id, name, membership: first, createdAtMs: nowMs }, act))) return taken;
    for (const membership of isNew ? others : memberships) await database.people.setMembership(id, membership, act);
    const token = newToken();
    await database.people.addLink(id, { hash: hashOf(token), salt: newToken(), expiresAtMs }, act);
    const link = `${dashboardUrl}/link/${token}`;
    return {
      made: say('The link for {name}', { name }),
      said: say('Give this to {name} alone. The first person who opens it becomes {name}. It is not shown again.', {
        name,
      }),
      json: {
        name,
        roles: [...(person?.memberships ?? []), ...memberships].map(roleJson),
        link,
        expires_at: textOf({ atMs: expiresAtMs }),
      },
      facts: [
        [say('One-time link'), { code: link }],
        [say('Works once, until'), { atMs: expiresAtMs }],
      ],
    };
  },
});

const taken = refuse(
  'refused',
  say('That name is taken. Choose another. The operator can give an existing account a role.'),
);

const roleJson = ({ role, storeId }: Membership) => ({ role, store: storeId });

/** Returns the roles that a person gets with a link. A person who has roles needs none. */
async function membershipsOf(
  context: Context,
  person: Person | null,
  role: Role | undefined,
  storeId: string | undefined,
): Promise<readonly Membership[] | Refusal> {
  const { database, scope } = context;
  const operator: Membership = { role: 'operator', storeId: null };
  if (scope && (role === undefined || role === 'operator')) return refuse('usage', say('Choose a role.'));
  if (role === undefined) {
    if (person) return [];
    const [only, ...others] = await database.stores.list();
    const isFirst = (await database.people.list()).every(({ id }) => id === SANDBOX_PERSON);
    return isFirst && only && others.length === 0 ? [operator, { role: 'owner', storeId: only.id }] : [operator];
  }
  if (role === 'operator') return [operator];
  const store = await storeOf(context, storeId);
  return isRefusal(store) ? store : [{ role, storeId: store.id }];
}

export const removePerson = defineAct({
  name: 'user remove',
  summary: 'Remove a person from the dashboard, and end all of their sessions.',
  needs: 'store:manage',
  asks: 'second factor',
  fields: { name: { label: say('Name'), help: 'the person’s', isArgument: true } },
  async plan({ database, scope, personId }, { name }) {
    const person = await database.people.find(name);
    if (!person || (scope && roleIn(person, scope.storeId) === null)) {
      return refuse('not_found', say('there is nobody called {name}; the dashboard shows who there is', { name }));
    }
    return person.id === personId ? refuse('refused', say('Nobody removes themselves. Another owner can.')) : person;
  },
  review: ({ id, name }) => ({
    title: say('Remove {name}?', { name }),
    target: id,
    notes: [
      say(
        '{name} sees and changes nothing here any more. API keys and webhook secrets that they have seen stay valid: make new ones.',
        { name },
      ),
    ],
    button: say('Remove'),
    isDangerous: true,
  }),
  async run({ database, scope, act }, person) {
    const { id, name, memberships } = person;
    if (scope && (await isLastOwner(database.people, scope.storeId, person))) {
      return refuse(
        'refused',
        say('The store would have no owner who can sign in. Make somebody else an owner first.'),
      );
    }
    // An account without any role would only keep its name from being given again.
    if (scope && memberships.length > 1) await database.people.removeMembership(id, scope.storeId, act);
    else await database.people.remove(id, act);
    return { said: say('{name} is removed.', { name }), json: { removed: true } };
  },
});

/** Whether the store would have no owner without this one who can sign in. */
async function isLastOwner(people: People, storeId: string, person: Person): Promise<boolean> {
  const members = await membersOf(people, storeId);
  const others = members.filter((one) => one.id !== person.id && one.isReady && roleIn(one, storeId) === 'owner');
  return roleIn(person, storeId) === 'owner' && others.length === 0;
}
