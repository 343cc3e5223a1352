/**
 * People who may use the dashboard. This tool is the only way to a first account, and back into one.
 */

import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { type Membership, storeRoles } from '../../src/core/access.ts';
import { hashOf, newToken } from '../../src/dashboard/web-session.ts';
import type { Person } from '../../src/database/people.ts';
import { sortableId } from '../../src/lib/id.ts';
import {
  type Answer,
  type Command,
  choiceOption,
  type Input,
  type Installation,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  storeOf,
  storeOption,
  usage,
} from './command.ts';
import { table } from './table.ts';

const LINK_LIFE_MS = 3_600_000;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u;
const roles = ['operator', ...storeRoles] as const;

export const userCreate: Command = {
  name: 'user create',
  args: ['name'],
  summary: 'Add a person to the dashboard, and print the one-time link that sets password and second factor.',
  options: {
    role: {
      value: 'ROLE',
      help: `${roles.join(', ')} (default: operator, for the whole installation; the first person of a sandbox owns its demo store too)`,
    },
    store: { ...storeOption, help: 'the store of the role; optional if there is only one' },
    reason: reasonOption,
  },
  async run(input, installation) {
    const { database, clock } = installation;
    const name = (input.args[0] ?? '').trim();
    if (!NAME.test(name)) throw usage(`"${name}" is no name: letters, digits, spaces and . _ @ -, at most 64`);
    const membership = await membershipOf(input, installation);
    const act = operatorAct(userCreate, input, clock);
    const id = `usr_${sortableId(clock.nowMs())}`;
    const isAdded = await database.people.add({ id, name, membership, createdAtMs: clock.nowMs() }, act);
    if (!isAdded) throw usage(`the name ${name} is taken; \`quayside user list\` shows all`);
    const demo = await demoStoreOf(input, installation);
    if (demo) await database.people.setMembership(id, demo, act);
    const given = demo ? [membership, demo] : [membership];
    return linkFor({ id, name }, given, userCreate, input, installation);
  },
};

export const userRole: Command = {
  name: 'user role',
  args: ['name'],
  summary: 'Give a person a role, in a store or in the installation.',
  options: {
    role: { value: 'ROLE', help: roles.join(', ') },
    store: storeOption,
    reason: reasonOption,
  },
  async run(input, installation) {
    const { database, clock } = installation;
    const person = await personOf(input, installation);
    const membership = await membershipOf(input, installation);
    await database.people.setMembership(person.id, membership, operatorAct(userRole, input, clock));
    return { json: { id: person.id, ...membership }, lines: [`${person.name} is ${roleText(membership)} now`] };
  },
};

export const userReset: Command = {
  name: 'user reset',
  args: ['name'],
  summary: 'Print a new one-time link for a person, whose sessions and earlier links end.',
  options: { reason: reasonOption },
  async run(input, installation) {
    const person = await personOf(input, installation);
    return linkFor(person, person.memberships, userReset, input, installation);
  },
};

export const userRemove: Command = {
  name: 'user remove',
  args: ['name'],
  summary: 'Remove a person from the dashboard, and end all of their sessions.',
  options: { reason: reasonOption },
  async run(input, installation) {
    const person = await personOf(input, installation);
    await installation.database.people.remove(person.id, operatorAct(userRemove, input, installation.clock));
    return { json: { id: person.id, removed: true }, lines: [`${person.name} is removed`] };
  },
};

export const userList: Command = {
  name: 'user list',
  args: [],
  summary: 'List the people who may use the dashboard, removed ones too.',
  options: {},
  async run(_input, { database }) {
    const people = await database.people.list();
    return {
      json: people.map(({ id, name, memberships, isReady, createdAtMs, removedAtMs }) => ({
        id,
        name,
        roles: memberships.map(({ role, storeId }) => ({ role, store: storeId })),
        ready: isReady,
        created_at: moment(createdAtMs),
        removed_at: removedAtMs === null ? null : moment(removedAtMs),
      })),
      lines: table([
        ['ID', 'NAME', 'ROLES', 'CREATED', 'STATE'],
        ...people.map((person) => [
          person.id,
          person.name,
          person.memberships.map(roleText).join(', '),
          moment(person.createdAtMs),
          stateOf(person),
        ]),
      ]),
    };
  },
};

const roleText = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

function stateOf({ isReady, hasFactor, removedAtMs }: Person): string {
  if (removedAtMs !== null) return `removed ${moment(removedAtMs)}`;
  if (!isReady) return 'link not used yet';
  return hasFactor ? 'ready' : 'no second factor yet';
}

async function membershipOf(input: Input, { database }: Installation): Promise<Membership> {
  const role = choiceOption(input, 'role', roles, 'operator');
  return role === 'operator' ? { role, storeId: null } : { role, storeId: (await storeOf(input, database)).id };
}

/** Returns the ownership of the demo store, which the first person of a sandbox gets too: its payments are theirs. */
async function demoStoreOf(input: Input, { database, config }: Installation): Promise<Membership | null> {
  const demo = input.options.role === undefined ? readCredentials(config.dataDir) : null;
  const isFirst = demo !== null && (await database.people.list()).length === 1;
  return isFirst && (await database.stores.find(demo.merchant_id))
    ? { role: 'owner', storeId: demo.merchant_id }
    : null;
}

async function personOf(input: Input, { database }: Installation): Promise<Person> {
  const name = (input.args[0] ?? '').trim();
  const person = await database.people.find(name);
  if (person) return person;
  throw notFound(`there is nobody called ${name}; \`quayside user list\` shows all`);
}

async function linkFor(
  { id, name }: Pick<Person, 'id' | 'name'>,
  memberships: readonly Membership[],
  command: Command,
  input: Input,
  { database, config, clock }: Installation,
): Promise<Answer> {
  const token = newToken();
  const expiresAtMs = clock.nowMs() + LINK_LIFE_MS;
  const act = operatorAct(command, input, clock);
  await database.signIns.addLink({ hash: hashOf(token), personId: id, salt: newToken(), expiresAtMs }, act);
  const base = readServerFile(config.dataDir)?.dashboard_url ?? config.dashboardUrl;
  const link = `${base}/link/${token}`;
  return {
    json: { id, name, link, expires_at: moment(expiresAtMs) },
    lines: [
      `role     ${memberships.map(roleText).join(', ') || 'none'}`,
      `link     ${link}`,
      `valid    once, until ${moment(expiresAtMs)} UTC`,
      `It sets the password and second factor of ${name}: give it to nobody else.`,
    ],
  };
}
