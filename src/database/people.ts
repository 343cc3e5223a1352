/**
 * The part of the database port about people: who may use the dashboard, how they prove who they are, and where they
 * are signed in. Tokens and codes are stored as their SHA-256 (hex), passwords as the caller's scrypt text, and the
 * secret of the one-time codes encrypted.
 */
import type { Membership } from '../core/access.ts';
import type { OperatorAct } from './audit-log.ts';

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

export interface People {
  /** @returns false when the name is taken, in any spelling */
  add(
    person: Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>,
    act: OperatorAct,
  ): Promise<boolean>;
  /** Adds a membership, or changes the role in that store. */
  setMembership(personId: string, membership: Membership, act: OperatorAct): Promise<void>;
  /** Ends somebody's role in a store. @returns false when there is none */
  removeMembership(personId: string, storeId: string, act: OperatorAct): Promise<boolean>;
  /** Ends an account and everything that it is signed in with. @returns false when there is none, or it has ended */
  remove(personId: string, act: OperatorAct): Promise<boolean>;
  /** Sets the zone in which somebody looks at pages. */
  setZone(personId: string, zone: string | null, act: OperatorAct): Promise<void>;
  /** Sets the language of the pages that somebody looks at. */
  setLanguage(personId: string, language: string | null, act: OperatorAct): Promise<void>;
  list(): Promise<readonly Person[]>;
  /** Finds an account by its name, in any case; not one that has ended. */
  find(name: string): Promise<Person | null>;
  /**
   * Sets what somebody signs in with who is signed in: the former one ends, and so do the person's other sessions. The
   * count of attempts is cleared. An app that takes the place of one that is lost, in a session that began with a
   * recovery code, raises an alarm.
   * @returns false when the session has ended, or the person has an app where it would be the first
   */
  changeSecret(
    session: Pick<WebSession, 'personId' | 'formToken'>,
    changed: ChangedSecret,
    act: OperatorAct,
  ): Promise<boolean>;
  /** Returns how many recovery codes a person has left. */
  countRecoveryCodes(personId: string): Promise<number>;
  /**
   * Adds a passkey, and ends the person's sessions but one.
   * @param keepFormToken of the session that goes on
   * @returns false when the person has too many, or the passkey is known already
   */
  addPasskey(passkey: Omit<Passkey, 'usedAtMs'>, keepFormToken: string, act: OperatorAct): Promise<boolean>;
  /** Returns a person's passkeys, the oldest first. */
  listPasskeys(personId: string): Promise<readonly Passkey[]>;
  /** Finds a passkey and whose it is; not of an account that has ended. */
  findPasskey(id: string): Promise<Readonly<{ passkey: Passkey; person: Person }> | null>;
  /** Removes a passkey, and ends the person's sessions but one. @returns false when the person has no such passkey */
  removePasskey(personId: string, id: string, keepFormToken: string, act: OperatorAct): Promise<boolean>;
}

/** How people prove who they are, and where they are signed in. */
export interface SignIns {
  /**
   * Makes a one-time link; earlier links of the person end, and so does everything that they are signed in with.
   * @param link `salt`: random; gone once the link is used
   */
  addLink(
    link: Readonly<{ hash: string; personId: string; salt: string; expiresAtMs: number }>,
    act: OperatorAct,
  ): Promise<void>;
  findLink(hash: string, nowMs: number): Promise<Readonly<{ person: Person; salt: string }> | null>;
  /** Uses a link up, sets the person's secrets and signs them in. @returns false when the link is used or too old */
  claimLink(
    claim: Readonly<{ hash: string; secrets: NewSecrets; session: WebSession }>,
    act: OperatorAct,
  ): Promise<boolean>;
  /**
   * Counts an attempt before it is checked, so that attempts at once cannot outrun the delay. `signIn` clears the
   * count.
   * @returns how many seconds the account waits, and takes no attempt, or 0
   */
  begin(personId: string, nowMs: number): Promise<number>;
  findSecrets(name: string): Promise<SignInSecrets | null>;
  /**
   * Uses the factor up and starts a session; one that begins with a recovery code may not do more until something else
   * is proved.
   * @param proved `password`: as it was stored when it was found right; null if none was asked for. `factor`: null for
   * a person who has none, whose session may not do more either
   * @returns false when the factor was used before, or when password or app was replaced or set up meanwhile
   */
  complete(
    session: WebSession,
    proved: Readonly<{ factor: UsedFactor | null; password: string | null }>,
    act: OperatorAct,
  ): Promise<boolean>;
  /**
   * Uses the factor up, gives the session another token, and lets it do more until `untilMs`. It clears the count of
   * attempts.
   * @param input `newHash`: of the new token; with the token of before the session can be found until
   * `previousUntilMs`, for requests that were on their way, but may not do more
   * @returns false when the factor was used before or is a recovery code, or the session has ended
   */
  confirmWebSession(
    input: Readonly<{
      hash: string;
      personId: string;
      factor: UsedFactor;
      untilMs: number;
      newHash: string;
      previousUntilMs: number;
    }>,
    act: OperatorAct,
  ): Promise<boolean>;

  /**
   * Returns who a session belongs to, while it lasts, and notes its use at most once a minute.
   * @param isUse whether somebody uses it (true), or a page asks by itself
   */
  findWebSession(
    hash: string,
    nowMs: number,
    limits: WebSessionLimits,
    isUse?: boolean,
  ): Promise<Readonly<{ person: Person; session: OpenSession }> | null>;
  /** Returns a person's sessions that have not ended, the newest first. */
  listWebSessions(personId: string, nowMs: number, limits: WebSessionLimits): Promise<readonly WebSession[]>;
  /** Ends one session of a person, or all but one. @returns how many */
  endWebSessions(
    personId: string,
    which: Readonly<{ only: string }> | Readonly<{ allBut: string }>,
    act: OperatorAct,
  ): Promise<number>;
}
