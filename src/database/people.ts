/**
 * People of the dashboard and their memberships, with the secrets that prove who they are. Tokens and codes are stored
 * as their SHA-256 (hex), passwords as the caller's scrypt text, and the secret of the one-time codes encrypted.
 */

import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Membership } from '../core/access.ts';
import { invariant } from '../core/fault.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { Db } from './engine/open.ts';
import { changeRows, deleteRows, insertRow } from './engine/rows.ts';
import { people, webSessions } from './tables.ts';

export const noLink = { linkHash: null, linkSalt: null, linkExpiresAtMs: null };
const unused = {
  ...{ password: null, totpSecret: null, totpStep: 0, failures: 0, lockedUntilMs: 0 },
  ...{ removedAtMs: null, recoveryHashes: [], passkeys: [], ...noLink },
};

const shown = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

type NewPerson = Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>;

/** Returns the repository of people. */
export function peopleCommands(db: Db) {
  const { orm } = db;
  const rows = personRows(db);
  return {
    /** @returns false when the name is taken, in any spelling */
    async add({ id, name, membership, createdAtMs }: NewPerson, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        if (await rows.named(name)) return false;
        await insertRow(db, people, { id, name, memberships: [membership], createdAtMs, ...unused });
        await recordAct(db, act, { target: id, before: null, after: { name, role: shown(membership) } });
        return true;
      });
    },
    /** Adds a membership, or changes the role in that store. */
    async setMembership(personId: string, membership: Membership, act: OperatorAct): Promise<void> {
      await db.write(async () => {
        const row = await rows.byId(personId);
        invariant(row, `there is an account ${personId}`);
        const before = row.memberships.find(({ storeId }) => storeId === membership.storeId);
        await rows.set(personId, { memberships: withMembership(row.memberships, membership) });
        await recordAct(db, act, {
          target: personId,
          before: { role: before ? shown(before) : null },
          after: { role: shown(membership) },
        });
      });
    },
    /** Ends somebody's role in a store. @returns false when there is none */
    async removeMembership(personId: string, storeId: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const row = await rows.byId(personId);
        const before = row?.memberships.find((own) => own.storeId === storeId);
        if (!row || !before) return false;
        await rows.set(personId, { memberships: row.memberships.filter((own) => own !== before) });
        await recordAct(db, act, { target: personId, before: { role: shown(before) }, after: { role: null } });
        return true;
      });
    },
    /** Ends an account and everything that it is signed in with. @returns false when there is none, or it has ended */
    async remove(personId: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const row = await rows.byId(personId);
        if (!row) return false;
        await rows.set(personId, { removedAtMs: act.atMs });
        await endAccess(db, personId);
        await recordAct(db, act, {
          target: personId,
          before: { name: row.name, removed: false },
          after: { removed: true },
        });
        return true;
      });
    },
    async list(): Promise<readonly Person[]> {
      return db.read(async () =>
        (await orm.select().from(people).orderBy(people.createdAtMs, people.id).all()).map(toPerson),
      );
    },
    /** Finds an account by its name, in any case; not one that has ended. */
    async find(name: string): Promise<Person | null> {
      return db.read(async () => {
        const row = await rows.named(name);
        return row ? toPerson(row) : null;
      });
    },
  };
}

/** `isReady`: a password is set. `hasFactor`: so is an authenticator app, without which there are no passkeys. */
export type Person = Pick<PersonRow, 'id' | 'name' | 'memberships' | 'createdAtMs' | 'removedAtMs'> &
  Readonly<{
    isReady: boolean;
    hasFactor: boolean;
    /** Recovery codes that are not used yet. */
    recoveryCodes: number;
  }>;

/** Secrets that a sign-in is checked against. `totpStep` is the newest 30-second step whose code was used. */
export type SignInSecrets = Pick<PersonRow, 'totpSecret' | 'totpStep'> & Readonly<{ person: Person; password: string }>;

/**
 * A browser in which a person is signed in. Until `sudoUntilMs` it may do what lets money or power out: the second
 * factor was proved shortly before. `formToken` proves that a form was written for this session, and names it while its
 * token changes.
 */
export type WebSession = Omit<typeof webSessions.$inferSelect, 'previousHash' | 'previousUntilMs'>;

/** Lifetimes of a session: without use, and at all. */
export type WebSessionLimits = Readonly<{ idleMs: number; lifeMs: number }>;

/** A second factor that was found right: a code of this step and app, or a passkey. */
export type UsedFactor =
  | Readonly<{ totpStep: number; totpSecret: string }>
  | Readonly<{ passkeyId: string; counter: number }>;

/** An authenticator app, with the recovery codes that stand for it. */
export type NewFactor = Readonly<{ totpSecret: string; totpStep: number; recoveryHashes: readonly string[] }>;

/** Secrets that a person sets with a one-time link. `factor`: null to set it up later. */
export type NewSecrets = Readonly<{ password: string; factor: NewFactor | null }>;

/** A one-time link. `salt`: random; gone once the link is used. Null: the link signs in, and sets nothing. */
export type NewLink = Readonly<{ hash: string; salt: string | null; expiresAtMs: number }>;

/** The id of the person whom the link of a sandbox's start signs in. */
export const SANDBOX_PERSON = 'usr_sandbox';

export type PersonRow = typeof people.$inferSelect;
/** Values to change; what is undefined stays. */
type PersonValues = Readonly<{ [Name in keyof PersonRow]?: PersonRow[Name] | undefined }>;

/** The name under which the secret of a person's one-time codes is sealed. */
export const totpSecretName = (personId: string): string => `one-time codes of ${personId}`;

export function toPerson(row: PersonRow): Person {
  const { id, name, memberships, password, totpSecret, recoveryHashes, createdAtMs, removedAtMs } = row;
  return {
    ...{ id, name, memberships, createdAtMs, removedAtMs },
    isReady: password !== null,
    hasFactor: totpSecret !== null,
    recoveryCodes: recoveryHashes.length,
  };
}

/** Reads and changes people within a transaction: those whose accounts have not ended. */
export function personRows(db: Pick<Db, 'client' | 'orm'>) {
  const select = (which?: SQL) => {
    const isActive = and(which, isNull(people.removedAtMs));
    return db.orm.select().from(people).where(isActive);
  };
  return {
    find: (which: SQL | undefined): Promise<PersonRow | undefined> => select(which).get(),
    byId: (id: string): Promise<PersonRow | undefined> => select(eq(people.id, id)).get(),
    /** @param name in any case */
    named: (name: string): Promise<PersonRow | undefined> => select(sql`lower(${people.name}) = lower(${name})`).get(),
    all: (): Promise<readonly PersonRow[]> => select().all(),
    set: async (id: string, values: PersonValues): Promise<void> => {
      await changeRows(db, people, { id }, values);
    },
  };
}

/** Returns memberships with one more, which replaces that of the same store. */
export const withMembership = (all: readonly Membership[], one: Membership): readonly Membership[] =>
  [...all.filter(({ storeId }) => storeId !== one.storeId), one].sort((a, b) =>
    (a.storeId ?? '') < (b.storeId ?? '') ? -1 : 1,
  );

/** Signs a person out everywhere, links included. To be used within a transaction. */
export async function endAccess(db: Pick<Db, 'client' | 'orm'>, personId: string): Promise<void> {
  await personRows(db).set(personId, noLink);
  await deleteRows(db, webSessions, { personId });
}
