/**
 * People of the dashboard, how they prove who they are, and where they are signed in. Tokens and codes are stored as
 * their SHA-256 (hex), passwords as the caller's scrypt text, and the secret of the one-time codes encrypted.
 */
import { and, eq, isNull } from 'drizzle-orm';
import type { Membership } from '../../core/access.ts';
import type { Db } from '../engine/open.ts';
import { memberships, people } from '../tables.ts';

/** `isReady`: a password is set. `hasFactor`: so is an authenticator app, without which there are no passkeys. */
export type Person = Readonly<{
  id: string;
  name: string;
  memberships: readonly Membership[];
  isReady: boolean;
  hasFactor: boolean;
  /** How many are not used yet. */
  recoveryCodes: number;
  /** The language of the pages, as its code; null for the browser's. */
  language: string | null;
  createdAtMs: number;
  removedAtMs: number | null;
}>;

/** What a sign-in is checked against. `totpStep` is the newest 30-second step whose code was used. */
export type SignInSecrets = Readonly<{
  person: Person;
  password: string;
  totpSecret: string | null;
  totpStep: number;
}>;

/**
 * Where somebody is signed in. `device` and `address` are what the browser and the connection said. Until `sudoUntilMs`
 * it may do what lets money or power out: the second factor was proved shortly before.
 */
export type WebSession = Readonly<{
  /** Of the token that its cookie has now. */
  hash: string;
  /** Proves that a form was written for this session, and names it while its token changes. */
  formToken: string;
  personId: string;
  device: string;
  address: string;
  startedAtMs: number;
  seenAtMs: number;
  sudoUntilMs: number;
}>;

/** How long a session lives without use, and at all. */
export type WebSessionLimits = Readonly<{ idleMs: number; lifeMs: number }>;

/** A second factor that was found right: a code of this step and app, or a passkey. */
export type UsedFactor =
  | Readonly<{ totpStep: number; totpSecret: string }>
  | Readonly<{ passkeyId: string; counter: number }>;

/**
 * A passkey (WebAuthn). `id` and `publicKey` (COSE) are base64url; `counter` is the newest that it signed with, or 0 if
 * it does not count.
 */
export type Passkey = Readonly<{
  id: string;
  personId: string;
  name: string;
  publicKey: string;
  counter: number;
  createdAtMs: number;
  usedAtMs: number | null;
}>;

/** An authenticator app, with the recovery codes that stand for it. */
export type NewFactor = Readonly<{ totpSecret: string; totpStep: number; recoveryHashes: readonly string[] }>;

/** What a person sets with a one-time link. `factor`: null to set it up later. */
export type NewSecrets = Readonly<{ password: string; factor: NewFactor | null }>;

/** Credentials that a signed-in person replaces. */
export type ChangedSecrets = Partial<NewFactor & Readonly<{ password: string }>>;

/** A one-time link. `salt`: random; gone once the link is used. */
export type NewLink = Readonly<{ hash: string; salt: string; expiresAtMs: number }>;

export type PersonRow = typeof people.$inferSelect;

/** The name under which the secret of a person's one-time codes is sealed. */
export const totpSecretName = (personId: string): string => `one-time codes of ${personId}`;

/** Reads people within a transaction. */
export function personReader({ orm }: Pick<Db, 'orm'>) {
  const rowOf = (id: string): PersonRow | undefined =>
    orm
      .select()
      .from(people)
      .where(and(eq(people.id, id), isNull(people.removedAtMs)))
      .get();
  return {
    rowOf,
    /** @param name in any case */
    rowNamed: (name: string): PersonRow | undefined =>
      orm
        .select()
        .from(people)
        .where(and(eq(people.name, name), isNull(people.removedAtMs)))
        .get(),
    toPerson(row: PersonRow): Person {
      const own = eq(memberships.personId, row.id);
      const all = orm.select().from(memberships).where(own).orderBy(memberships.storeId).all();
      return {
        id: row.id,
        name: row.name,
        memberships: all.map(({ role, storeId }) => ({ role, storeId }) as Membership),
        isReady: row.password !== null,
        hasFactor: row.totpSecret !== null,
        recoveryCodes: row.recoveryHashes.length,
        language: row.language,
        createdAtMs: row.createdAtMs,
        removedAtMs: row.removedAtMs,
      };
    },
  };
}
