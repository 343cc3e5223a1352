/**
 * People of the dashboard: their memberships, one-time links, attempts to sign in, factors, and sessions of browsers.
 * Tokens and codes are stored as SHA-256 (hex), passwords as the caller's scrypt text. The secret of the one-time codes
 * is encrypted.
 */

import type { Membership } from '../core/access.ts';
import { signInDelayS } from '../core/access.ts';
import { invariant } from '../core/fault.ts';
import { raiseAlarm } from './alarms.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { AuditedState, Passkey } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { changeRows, deleteRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { replaysOf } from './replays.ts';
import type { SealedDb, VaultDb } from './sealing.ts';
import { people, webSessions } from './tables.ts';

type PersonRow = typeof people.$inferSelect;

export type Person = Readonly<ReturnType<typeof toPerson>>;

type NewPerson = Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>;

/** Secrets that a sign-in is checked against. `totpStep` is the 30-second step of the newest used code. */
export type SignInSecrets = Pick<PersonRow, 'totpSecret' | 'totpStep'> & Readonly<{ person: Person; password: string }>;

/**
 * A browser in which a person is signed in. Until `sudoUntilMs` it may give out money and rights, because the second
 * factor was proved shortly before. `formToken` proves that a form was made for this session. It identifies the session
 * while the session's token changes.
 */
export type WebSession = Omit<typeof webSessions.$inferSelect, 'previousHash' | 'previousUntilMs'>;

/** Lifetimes of a session: without use, and in total. */
export type WebSessionLimits = Readonly<{ idleMs: number; lifeMs: number }>;

/** A second factor that was verified: a code of this step and app, or a passkey. */
export type UsedFactor =
  | Readonly<{ totpStep: number; totpSecret: string }>
  | Readonly<{ passkeyId: string; counter: number }>;
/** A verified factor, or a recovery code, which makes a link and starts no session. */
type AnyFactor = UsedFactor | Readonly<{ recoveryHash: string }>;

/** An authenticator app, and the recovery codes that can replace it. */
export type NewFactor = Readonly<{ totpSecret: string; totpStep: number; recoveryHashes: readonly string[] }>;

/** Secrets that a person sets with a one-time link. A null `factor` is set up later. */
type NewSecrets = Readonly<{ password: string; factor: NewFactor | null }>;

/** A one-time link. `salt` is random, and null for a link that only signs in. */
type NewLink = Readonly<{ hash: string; salt: string | null; expiresAtMs: number }>;

/** The id of the person of a sandbox, whom the link at its start signs in. */
export const SANDBOX_PERSON = 'usr_sandbox';

/** Most sessions of a person. Older ones end. */
const WEB_SESSIONS_MAX = 20;
const PASSKEYS_MAX = 10;
/** Shortest time between two saved uses of a session. */
const SEEN_EVERY_MS = 60_000;

const noLink = { linkHash: null, linkSalt: null, linkExpiresAtMs: null };
const noFailures = { failures: 0, lockedUntilMs: 0 };
const noFactor = { totpSecret: null, totpStep: 0, recoveryHashes: [] };
const unused = { password: null, ...noFactor, ...noFailures, removedAtMs: null, passkeys: [], ...noLink };

/** Returns the name under which the secret of a person's one-time codes is sealed. */
export const totpSecretName = (personId: string): string => `one-time codes of ${personId}`;

const shown = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

function toPerson(row: PersonRow) {
  const { id, name, memberships, password, totpSecret, recoveryHashes, createdAtMs, removedAtMs } = row;
  return {
    id,
    name,
    memberships,
    createdAtMs,
    removedAtMs,
    // The sandbox's person needs no password.
    isReady: password !== null || id === SANDBOX_PERSON,
    // Passkeys need an authenticator app, so the app alone decides.
    hasFactor: totpSecret !== null,
    // Used codes are removed.
    recoveryCodes: recoveryHashes.length,
  };
}

export const peopleCommands = (db: SealedDb) => ({
  ...accountCommands(db),
  ...linkCommands(db),
  ...attemptCommands(db),
  ...passkeyCommands(db),
  ...webSessionCommands(db),
  /** Returns the proof of a challenge's text, in hexadecimal digits. It is the same on every machine. */
  challengeProof: (text: string): string => db.tokens.of('challenge', text),
  /** Uses a challenge up. @returns false when it was used before */
  async useChallenge(challenge: string, times: Readonly<{ nowMs: number; keepUntilMs: number }>): Promise<boolean> {
    return db.write(() => replaysOf(db).useNonce({ keyId: 'challenge', nonce: challenge, ...times }));
  },
});

// Call these within a transaction. They find only accounts that have not ended.

const ACTIVE = 'removed_at_ms IS NULL';

/** Returns an account by its id. */
export const personRow = (db: Db, id: string): Promise<PersonRow | undefined> =>
  findRow(db, people, `WHERE id = :id AND ${ACTIVE}`, { id });

/** @param name in any case */
const rowNamed = (db: Db, name: string): Promise<PersonRow | undefined> =>
  findRow(db, people, `WHERE lower(name) = lower(:name) AND ${ACTIVE}`, { name });

const rowOfLink = (db: Db, hash: string, nowMs: number): Promise<PersonRow | undefined> =>
  findRow(db, people, `WHERE link_hash = :hash AND link_expires_at_ms > :nowMs AND ${ACTIVE}`, { hash, nowMs });

const change = (db: Db, id: string, values: Partial<PersonRow>) => changeRows(db, people, { id }, values);

/** Adds a membership, or changes the role in that store. */
export async function saveMembership(db: Db, { id, memberships }: PersonRow, one: Membership): Promise<void> {
  const others = memberships.filter(({ storeId }) => storeId !== one.storeId);
  const all = [...others, one].sort((a, b) => ((a.storeId ?? '') < (b.storeId ?? '') ? -1 : 1));
  await change(db, id, { memberships: all });
}

/** Signs a person out everywhere, links included. */
async function endAccess(db: Db, personId: string): Promise<void> {
  await change(db, personId, noLink);
  await deleteRows(db, webSessions, { personId });
}

// ── Accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const accountCommands = (db: Db) => ({
  /** @returns false when the name is taken, in any spelling */
  async add({ id, name, membership, createdAtMs }: NewPerson, act: OperatorAct): Promise<boolean> {
    return db.write(async () => {
      if (await rowNamed(db, name)) return false;
      await insertRow(db, people, { id, name, memberships: [membership], createdAtMs, ...unused });
      await recordAct(db, act, { target: id, before: null, after: { name, role: shown(membership) } });
      return true;
    });
  },
  /** Adds a membership, or changes the role in that store. */
  async setMembership(personId: string, membership: Membership, act: OperatorAct): Promise<void> {
    await db.write(async () => {
      const row = await personRow(db, personId);
      invariant(row, `there is an account ${personId}`);
      const before = row.memberships.find(({ storeId }) => storeId === membership.storeId);
      await saveMembership(db, row, membership);
      const roles = { before: { role: before ? shown(before) : null }, after: { role: shown(membership) } };
      await recordAct(db, act, { target: personId, ...roles });
    });
  },
  /** Ends a person's role in a store. @returns false when there is none */
  async removeMembership(personId: string, storeId: string, act: OperatorAct): Promise<boolean> {
    return db.write(async () => {
      const row = await personRow(db, personId);
      const before = row?.memberships.find((own) => own.storeId === storeId);
      if (!row || !before) return false;
      await change(db, personId, { memberships: row.memberships.filter((own) => own !== before) });
      await recordAct(db, act, { target: personId, before: { role: shown(before) }, after: { role: null } });
      return true;
    });
  },
  /** Ends an account with its sessions and links. @returns false when there is none, or it has ended */
  async remove(personId: string, act: OperatorAct): Promise<boolean> {
    return db.write(async () => {
      const row = await personRow(db, personId);
      if (!row) return false;
      await change(db, personId, { removedAtMs: act.atMs });
      await endAccess(db, personId);
      const before = { name: row.name, removed: false };
      await recordAct(db, act, { target: personId, before, after: { removed: true } });
      return true;
    });
  },
  /** Returns all accounts, oldest first, even those that have ended. */
  async list(): Promise<readonly Person[]> {
    return (await db.read(() => findRows(db, people, 'ORDER BY created_at_ms, id'))).map(toPerson);
  },
  /** Finds an account that has not ended by its name, in any case. */
  async find(name: string): Promise<Person | null> {
    const row = await db.read(() => rowNamed(db, name));
    return row ? toPerson(row) : null;
  },
});

// ── One-time links ───────────────────────────────────────────────────────────────────────────────────────────────────

async function setLink(db: Db, personId: string, { hash, salt, expiresAtMs }: NewLink): Promise<void> {
  // A link without a salt replaces no secret, so it ends no session.
  if (salt !== null) await endAccess(db, personId);
  await change(db, personId, { linkHash: hash, linkSalt: salt, linkExpiresAtMs: expiresAtMs });
}

const linkCommands = (db: VaultDb) => ({
  /** Makes a one-time link, and ends the person's earlier one. A link that sets secrets also ends all sessions. */
  async addLink(personId: string, link: NewLink, act: OperatorAct): Promise<void> {
    await db.write(async () => {
      await setLink(db, personId, link);
      await recordAct(db, act, { target: personId, before: null, after: { link_expires_at_ms: link.expiresAtMs } });
    });
  },
  async findLink(hash: string, nowMs: number): Promise<Readonly<{ person: Person; salt: string }> | null> {
    const row = await db.read(() => rowOfLink(db, hash, nowMs));
    return row?.linkSalt ? { person: toPerson(row), salt: row.linkSalt } : null;
  },
  /** Uses up a link that only signs in. @returns false when it is another person's, used or too old */
  async enter(hash: string, session: WebSession, act: OperatorAct): Promise<boolean> {
    return db.write(async () => {
      const row = await rowOfLink(db, hash, session.startedAtMs);
      if (row?.id !== session.personId || row.linkSalt !== null) return false;
      await change(db, row.id, noLink);
      await startSession(db, unproved(session));
      await recordAct(db, act, { target: row.id, before: null, after: { second_factor: kindOf(null) } });
      return true;
    });
  },
  /** Uses a link up, sets the person's secrets and signs the person in. @returns false when it is used or too old */
  async claimLink(
    { hash, secrets, session }: Readonly<{ hash: string; secrets: NewSecrets; session: WebSession }>,
    act: OperatorAct,
  ): Promise<boolean> {
    return db.write(async () => {
      const { personId } = session;
      if ((await rowOfLink(db, hash, session.startedAtMs))?.id !== personId) return false;
      const { password, factor } = secrets;
      await endAccess(db, personId);
      const { totpSecret, ...rest } = factor ?? noFactor;
      const sealed = totpSecret && db.vault.seal(totpSecret, totpSecretName(personId));
      await change(db, personId, { password, ...rest, totpSecret: sealed, passkeys: [], ...noFailures });
      await startSession(db, factor ? session : unproved(session));
      const after = { password: 'set', second_factor: factor ? 'set' : 'none' };
      await recordAct(db, act, { target: personId, before: null, after });
      return true;
    });
  },
});

// ── Attempts and factors ─────────────────────────────────────────────────────────────────────────────────────────────

function kindOf(factor: AnyFactor | null): string {
  if (factor === null) return 'none';
  if ('recoveryHash' in factor) return 'recovery code';
  return 'totpStep' in factor ? 'one-time code' : 'passkey';
}

const secretOf = ({ vault }: VaultDb, { id, totpSecret }: PersonRow): string | null =>
  totpSecret && vault.open(totpSecret, totpSecretName(id));

/**
 * Returns the changes by the use of a factor; null when it was used before, or its app was replaced or set up
 * meanwhile.
 * @param factor null for a person who has none
 */
async function usedUp(db: VaultDb, row: PersonRow, factor: AnyFactor | null, atMs: number) {
  if (factor === null) return row.totpSecret === null ? {} : null;
  if ('recoveryHash' in factor) {
    const recoveryHashes = row.recoveryHashes.filter((hash) => hash !== factor.recoveryHash);
    return recoveryHashes.length < row.recoveryHashes.length ? { recoveryHashes } : null;
  }
  if ('totpStep' in factor) {
    const { totpStep, totpSecret } = factor;
    return secretOf(db, row) === totpSecret && row.totpStep < totpStep ? { totpStep } : null;
  }
  const { passkeyId, counter } = factor;
  const own = row.passkeys.find((one) => one.id === passkeyId);
  if (!own) return null;
  // A passkey's counter must have risen. Otherwise the passkey may have been copied.
  if (counter === 0 ? own.counter !== 0 : own.counter >= counter) return warnOfCopy(db, row, atMs);
  const used = { ...own, counter, usedAtMs: atMs };
  return { passkeys: row.passkeys.map((one) => (one === own ? used : one)) };
}

async function warnOfCopy(db: Db, { name }: PersonRow, atMs: number): Promise<null> {
  const message =
    `A passkey of ${name} was used with a signature count that is not newer than the last, so it may have been copied. ` +
    `It was refused. Remove it under My account, or run \`quayside user link ${name}\`.`;
  await raiseAlarm(db, { atMs, code: 'passkey_copied', message, network: null, sessionId: null });
  return null;
}

async function warnOfRecovery(db: Db, { name }: PersonRow, address: string, { atMs }: OperatorAct): Promise<void> {
  const message =
    `${name} used a recovery code of the dashboard, from ${address}, and can set a new password and app ` +
    `with it. If that was not ${name}: \`quayside user link ${name}\` ends it.`;
  await raiseAlarm(db, { atMs, code: 'recovery_code_used', message, network: null, sessionId: null });
}

function attemptCommands(db: VaultDb) {
  /** Uses a factor up, and ends the delay after wrong attempts. */
  async function useFactor(row: PersonRow, factor: AnyFactor | null, { atMs }: OperatorAct): Promise<boolean> {
    const changes = await usedUp(db, row, factor, atMs);
    if (changes) await change(db, row.id, { ...changes, ...noFailures });
    return changes !== null;
  }

  return {
    /**
     * Counts an attempt before it is checked, so that simultaneous attempts cannot outrun the delay. A success clears
     * the count.
     * @returns the secrets to check; null during the delay, and if there is no account that can sign in
     */
    async attempt(name: string, nowMs: number): Promise<SignInSecrets | null> {
      return db.write(async () => {
        const row = await rowNamed(db, name);
        if (!row || row.password === null || row.lockedUntilMs > nowMs) return null;
        const failures = row.failures + 1;
        await change(db, row.id, { failures, lockedUntilMs: nowMs + signInDelayS(failures) * 1000 });
        const { password, totpStep } = row;
        return { person: toPerson(row), password, totpSecret: secretOf(db, row), totpStep };
      });
    },
    /**
     * Uses the factor up, and starts a session or makes a one-time link.
     * @param begun a session, or a link with which the person sets new secrets
     * @param proved `password`: its stored text at the check; null if none was asked for. `factor`: null for a person
     * who has none, whose session then has no rights that need one. `address`: the request's, for the audit log
     * @returns false when the factor was used before, or when password or app was replaced or set up meanwhile
     */
    async complete(
      begun: WebSession | (NewLink & Pick<WebSession, 'personId'>),
      { factor, password, address }: Readonly<{ factor: AnyFactor | null; password: string | null; address: string }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const row = await personRow(db, begun.personId);
        const isRecovery = factor !== null && 'recoveryHash' in factor;
        if (!row || (password !== null && row.password !== password) || (isRecovery && !('salt' in begun)))
          return false;
        if (!(await useFactor(row, factor, act))) return false;
        if ('salt' in begun) await setLink(db, row.id, begun);
        else await startSession(db, factor ? begun : unproved(begun));
        if (isRecovery) await warnOfRecovery(db, row, address, act);
        await recordAct(db, act, { target: row.id, before: null, after: { second_factor: kindOf(factor), address } });
        return true;
      });
    },
    /**
     * Uses the factor up, gives the session another token, and more rights until `sudoUntilMs`. It clears the count of
     * attempts.
     * @param renewed `hash`: of the new token. Requests that were on their way find the session with the earlier token
     * until `previousUntilMs`, without the additional rights
     * @returns false when the factor was used before, or the session has ended
     */
    async confirmWebSession(
      { hash, personId }: Pick<WebSession, 'hash' | 'personId'>,
      factor: UsedFactor,
      renewed: Readonly<{ hash: string; previousUntilMs: number; sudoUntilMs: number }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const [row, session] = [await personRow(db, personId), await findRow(db, webSessions, { hash, personId })];
        if (!row || !session || !(await useFactor(row, factor, act))) return false;
        await changeRows(db, webSessions, { hash, personId }, { ...renewed, previousHash: hash });
        await recordAct(db, act, { target: personId, before: null, after: { second_factor: kindOf(factor) } });
        return true;
      });
    },
  };
}

function passkeyCommands(db: Db) {
  type Own = Pick<WebSession, 'personId' | 'formToken'>;
  type Changed = Readonly<{ passkeys: readonly Passkey[]; before: AuditedState; after: AuditedState }>;

  /**
   * Changes the passkeys of a session's person, and ends the person's other sessions.
   * @param edit returns null to change nothing
   * @returns false when nothing was changed, or the session has ended
   */
  async function changeOwn(
    { personId, formToken }: Own,
    act: OperatorAct,
    edit: (passkeys: readonly Passkey[]) => Promise<Changed | null> | Changed | null,
  ): Promise<boolean> {
    return db.write(async () => {
      const row = await personRow(db, personId);
      const open = await findRows(db, webSessions, { personId });
      const changed = row && open.some((one) => one.formToken === formToken) ? await edit(row.passkeys) : null;
      if (!changed) return false;
      const { passkeys, ...states } = changed;
      await change(db, personId, { passkeys });
      for (const { hash } of open.filter((one) => one.formToken !== formToken))
        await deleteRows(db, webSessions, { hash });
      await recordAct(db, act, { target: personId, ...states });
      return true;
    });
  }

  async function rowOfPasskey(id: string): Promise<PersonRow | undefined> {
    const all = await findRows(db, people, `WHERE ${ACTIVE}`);
    return all.find(({ passkeys }) => passkeys.some((one) => one.id === id));
  }

  return {
    /** Adds a passkey. @returns false when the person has too many, or the passkey is known */
    addPasskey: (session: Own, passkey: Omit<Passkey, 'usedAtMs'>, act: OperatorAct) =>
      changeOwn(session, act, async (own) => {
        if (own.length >= PASSKEYS_MAX || (await rowOfPasskey(passkey.id))) return null;
        const passkeys = [...own, { ...passkey, usedAtMs: null }];
        return { passkeys, before: null, after: { passkey: passkey.id, name: passkey.name } };
      }),
    /** @returns false when the person has no such passkey */
    removePasskey: (session: Own, id: string, act: OperatorAct) =>
      changeOwn(session, act, (own) => {
        const removed = own.find((one) => one.id === id);
        const passkeys = own.filter((one) => one !== removed);
        return removed ? { passkeys, before: { passkey: id, name: removed.name }, after: { passkey: null } } : null;
      }),
    /** Returns a person's passkeys, the oldest first. */
    async listPasskeys(personId: string): Promise<readonly Passkey[]> {
      return (await db.read(() => personRow(db, personId)))?.passkeys ?? [];
    },
    /** Finds a passkey and its person, unless the account has ended. */
    async findPasskey(id: string): Promise<Readonly<{ passkey: Passkey; person: Person }> | null> {
      const row = await db.read(() => rowOfPasskey(id));
      const passkey = row?.passkeys.find((one) => one.id === id);
      return row && passkey ? { passkey, person: toPerson(row) } : null;
    },
  };
}

// ── Sessions of browsers ─────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a session without the rights that need a second factor. */
const unproved = (session: WebSession): WebSession => ({ ...session, sudoUntilMs: 0 });

async function startSession(db: Db, session: WebSession): Promise<void> {
  const { personId } = session;
  const newest = 'WHERE person_id = :personId ORDER BY started_at_ms DESC, hash';
  const older = await findRows(db, webSessions, newest, { personId });
  for (const { hash } of older.slice(WEB_SESSIONS_MAX - 1)) await deleteRows(db, webSessions, { hash });
  await insertRow(db, webSessions, { ...session, previousHash: null, previousUntilMs: 0 });
}

const isAlive = ({ startedAtMs, seenAtMs }: WebSession, nowMs: number, { idleMs, lifeMs }: WebSessionLimits): boolean =>
  startedAtMs + lifeMs > nowMs && seenAtMs + idleMs > nowMs;

function webSessionCommands(db: Db) {
  const withToken = 'WHERE hash = :hash OR (previous_hash = :hash AND previous_until_ms > :nowMs)';
  return {
    /** Returns a session and its person while it lasts, and saves its use at most once a minute. */
    async findWebSession(
      hash: string,
      nowMs: number,
      limits: WebSessionLimits,
    ): Promise<Readonly<{ person: Person; session: WebSession }> | null> {
      const found = await db.read(async () => {
        const row = await findRow(db, webSessions, withToken, { hash, nowMs });
        const person = row && isAlive(row, nowMs, limits) && (await personRow(db, row.personId));
        if (!row || !person) return null;
        const { previousHash: _, previousUntilMs: __, ...session } = row;
        // An earlier token gives no rights that need a second factor.
        return { session: row.hash === hash ? session : unproved(session), person: toPerson(person) };
      });
      if (found && found.session.seenAtMs + SEEN_EVERY_MS <= nowMs)
        await db.write(() => changeRows(db, webSessions, { hash: found.session.hash }, { seenAtMs: nowMs }));
      return found;
    },
    /** Ends a session of a person. */
    async endWebSession({ hash, personId }: Pick<WebSession, 'hash' | 'personId'>, act: OperatorAct): Promise<void> {
      return db.write(async () => {
        if ((await deleteRows(db, webSessions, { hash })) > 0)
          await recordAct(db, act, { target: personId, before: { sessions: 1 }, after: { sessions: 0 } });
      });
    },
  };
}
