/**
 * The part of the database port about people: who may use the dashboard, how they prove who they are, and where they
 * are signed in. Tokens and codes are stored as their SHA-256 (hex), passwords as the caller's scrypt text, and the
 * secret of the one-time codes encrypted.
 */
import type { Membership } from '../../core/access.ts';

/** `isReady`: a password is set. `hasFactor`: so is an authenticator app, without which there are no passkeys. */
export type Person = Readonly<{
  id: string;
  name: string;
  memberships: readonly Membership[];
  isReady: boolean;
  hasFactor: boolean;
  /** The time zone in which the person looks at pages; null for each store's own. */
  zone: string | null;
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

/** A session that lasts. `isRecovered`: it began with a recovery code, and nothing else was proved in it since. */
export type OpenSession = WebSession & Readonly<{ isRecovered: boolean }>;

/** How long a session lives without use, and at all. */
export type WebSessionLimits = Readonly<{ idleMs: number; lifeMs: number }>;

/** A second factor that was found right: a code of this step and app, a recovery code with this hash, or a passkey. */
export type UsedFactor =
  | Readonly<{ totpStep: number; totpSecret: string }>
  | Readonly<{ recoveryHash: string }>
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

/** What somebody who is signed in sets. `first`: the app of a person who has none. */
export type ChangedSecret =
  | Pick<NewSecrets, 'password'>
  | Pick<NewFactor, 'totpSecret' | 'totpStep'>
  | Pick<NewFactor, 'recoveryHashes'>
  | Readonly<{ first: NewFactor }>;
