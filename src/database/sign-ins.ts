/**
 * Signing in: one-time links, attempts, passwords and factors, and the sessions of browsers.
 */
import { and, desc, eq, gt, lt, ne, or } from 'drizzle-orm';
import { signInDelayS } from '../core/access.ts';
import { raiseAlarm } from './alarms.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { AuditedState, Passkey } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { changeRows, deleteRows, findRow, insertRow } from './engine/rows.ts';
import {
  endAccess,
  type NewLink,
  type NewSecrets,
  noLink,
  type Person,
  type PersonRow,
  personRows,
  type SignInSecrets,
  toPerson,
  totpSecretName,
  type UsedFactor,
  type WebSession,
  type WebSessionLimits,
} from './people.ts';
import { replaysOf } from './replays.ts';
import type { SealedDb, VaultDb } from './sealing.ts';
import { people, webSessions } from './tables.ts';

/** A person's sessions beyond this many end, the oldest first. */
const WEB_SESSIONS_MAX = 20;
const PASSKEYS_MAX = 10;
/** A session's use is saved at most this often. */
const SEEN_EVERY_MS = 60_000;

const noFailures = { failures: 0, lockedUntilMs: 0 };
const noFactor = { totpSecret: null, totpStep: 0, recoveryHashes: [] };

type Session = Pick<WebSession, 'personId' | 'formToken'>;
/** A link with which a person who proved who they are replaces what they sign in with. */
type OwnLink = NewLink & Pick<WebSession, 'personId'>;
/** A recovery code makes a link, and starts no session. */
type AnyFactor = UsedFactor | Readonly<{ recoveryHash: string }>;

/** A session that may not do what needs a second factor. */
const unproved = (session: WebSession): WebSession => ({ ...session, sudoUntilMs: 0 });

function kindOf(factor: AnyFactor | null): string {
  if (factor === null) return 'none';
  if ('recoveryHash' in factor) return 'recovery code';
  return 'totpStep' in factor ? 'one-time code' : 'passkey';
}

/** @param isNewest whether it was found by its present token: an earlier one lets nobody do more */
const toSession = (
  { previousHash: _, previousUntilMs: __, ...row }: typeof webSessions.$inferSelect,
  isNewest: boolean,
): WebSession => (isNewest ? row : unproved(row));

const isAlive = ({ startedAtMs, seenAtMs }: WebSession, nowMs: number, { idleMs, lifeMs }: WebSessionLimits): boolean =>
  startedAtMs + lifeMs > nowMs && seenAtMs + idleMs > nowMs;

/** Returns the repository of sign-ins. */
export const signInCommands = (db: SealedDb) => ({
  ...linkCommands(db),
  ...attemptCommands(db),
  ...passkeyCommands(db),
  ...webSessionCommands(db),
  /** Returns the proof of a text in a challenge, in hexadecimal digits: the same on every machine. */
  challengeProof: (text: string): string => db.tokens.of('challenge', text),
  /** Uses up a challenge. @returns false when it was used before */
  async useChallenge(challenge: string, times: Readonly<{ nowMs: number; keepUntilMs: number }>): Promise<boolean> {
    return db.write(() => replaysOf(db).useNonce({ keyId: 'challenge', nonce: challenge, ...times }));
  },
});

async function setLink(db: Db, personId: string, { hash, salt, expiresAtMs }: NewLink): Promise<void> {
  // A link that replaces no secret ends no session.
  if (salt !== null) await endAccess(db, personId);
  await personRows(db).set(personId, { linkHash: hash, linkSalt: salt, linkExpiresAtMs: expiresAtMs });
}

async function startSession(db: Db, session: WebSession): Promise<void> {
  const own = eq(webSessions.personId, session.personId);
  const older = await db.orm.select().from(webSessions).where(own).orderBy(desc(webSessions.startedAtMs)).all();
  for (const { hash } of older.slice(WEB_SESSIONS_MAX - 1)) {
    await deleteRows(db, webSessions, { hash });
  }
  await insertRow(db, webSessions, { ...session, previousHash: null, previousUntilMs: 0 });
}

function linkCommands(db: VaultDb) {
  const { vault } = db;
  const rows = personRows(db);

  const rowOfLink = (hash: string, nowMs: number): Promise<PersonRow | undefined> =>
    rows.find(and(eq(people.linkHash, hash), gt(people.linkExpiresAtMs, nowMs)));

  return {
    /** Makes a one-time link. The person's earlier link ends, and unless it only signs in, so do all sessions. */
    async addLink(personId: string, link: NewLink, act: OperatorAct): Promise<void> {
      await db.write(async () => {
        await setLink(db, personId, link);
        await recordAct(db, act, { target: personId, before: null, after: { link_expires_at_ms: link.expiresAtMs } });
      });
    },
    async findLink(hash: string, nowMs: number): Promise<Readonly<{ person: Person; salt: string }> | null> {
      return db.read(async () => {
        const row = await rowOfLink(hash, nowMs);
        return row?.linkSalt ? { person: toPerson(row), salt: row.linkSalt } : null;
      });
    },
    /** Uses up a link that only signs in. @returns false when it is none of that person, used or too old */
    async enter(hash: string, session: WebSession, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const row = await rowOfLink(hash, session.startedAtMs);
        if (row?.id !== session.personId || row.linkSalt !== null) return false;
        await rows.set(row.id, noLink);
        await startSession(db, unproved(session));
        await recordAct(db, act, { target: row.id, before: null, after: { second_factor: kindOf(null) } });
        return true;
      });
    },
    /** Uses a link up, sets the person's secrets and signs them in. @returns false when the link is used or too old */
    async claimLink(
      { hash, secrets, session }: Readonly<{ hash: string; secrets: NewSecrets; session: WebSession }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const { personId } = session;
        if ((await rowOfLink(hash, session.startedAtMs))?.id !== personId) return false;
        const { password, factor } = secrets;
        await endAccess(db, personId);
        const { totpSecret, ...rest } = factor ?? noFactor;
        const sealed = totpSecret && vault.seal(totpSecret, totpSecretName(personId));
        await rows.set(personId, { password, ...rest, totpSecret: sealed, passkeys: [], ...noFailures });
        await startSession(db, factor ? session : unproved(session));
        const after = { password: 'set', second_factor: factor ? 'set' : 'none' };
        await recordAct(db, act, { target: personId, before: null, after });
        return true;
      });
    },
  };
}

/**
 * Notes the use of a passkey that was found right. A passkey that counts its signatures must have counted on: if not,
 * it was copied, which raises an alarm.
 * @returns false when it was removed or has not counted on
 */
async function usePasskey(
  db: Db,
  { id, name, passkeys }: PersonRow,
  { passkeyId, counter }: Extract<UsedFactor, { passkeyId: string }>,
  atMs: number,
): Promise<boolean> {
  const own = passkeys.find((one) => one.id === passkeyId);
  if (!own) return false;
  if (counter === 0 ? own.counter === 0 : own.counter < counter) {
    const used = { ...own, counter, usedAtMs: atMs };
    await personRows(db).set(id, { passkeys: passkeys.map((one) => (one === own ? used : one)) });
    return true;
  }
  const message =
    `A passkey of ${name} was used with a signature count that is not newer than the last: it may have been copied. ` +
    `It was refused. Remove it under My account, or run \`quayside user link ${name}\`.`;
  await raiseAlarm(db, { atMs, code: 'passkey_copied', message, network: null, sessionId: null });
  return false;
}

async function warnOfRecovery(db: Db, name: string, address: string, { atMs }: OperatorAct): Promise<void> {
  const message =
    `${name} used a recovery code of the dashboard, from ${address}, and can set a new password and app ` +
    `with it. If that was not ${name}: \`quayside user link ${name}\` ends it.`;
  await raiseAlarm(db, { atMs, code: 'recovery_code_used', message, network: null, sessionId: null });
}

function attemptCommands(db: VaultDb) {
  const { orm, vault } = db;
  const rows = personRows(db);

  /**
   * Uses a factor up, and ends the delay after wrong attempts.
   * @param factor null: of a person who has none
   * @returns false when the factor was used before, or its app was replaced or set up meanwhile
   */
  async function useFactor(row: PersonRow, factor: AnyFactor | null, { atMs }: OperatorAct): Promise<boolean> {
    const { id, totpSecret } = row;
    if (factor === null) {
      if (totpSecret !== null) return false;
    } else if ('recoveryHash' in factor) {
      const recoveryHashes = row.recoveryHashes.filter((hash) => hash !== factor.recoveryHash);
      if (recoveryHashes.length === row.recoveryHashes.length) return false;
      await rows.set(id, { recoveryHashes });
    } else if ('totpStep' in factor) {
      const { totpStep } = factor;
      if (totpSecret === null || vault.open(totpSecret, totpSecretName(id)) !== factor.totpSecret) return false;
      const isNewer = and(eq(people.id, id), lt(people.totpStep, totpStep));
      if ((await orm.update(people).set({ totpStep }).where(isNewer).run()).changes !== 1) return false;
    } else if (!(await usePasskey(db, row, factor, atMs))) return false;
    await rows.set(id, noFailures);
    return true;
  }

  return {
    /**
     * Counts an attempt before it is checked, so that attempts at once cannot outrun the delay. A successful one
     * clears the count.
     * @returns what it is checked against; null while the account waits, and if there is none that can sign in
     */
    async attempt(name: string, nowMs: number): Promise<SignInSecrets | null> {
      return db.write(async () => {
        const row = await rows.named(name);
        if (!row || row.password === null || row.lockedUntilMs > nowMs) return null;
        const failures = row.failures + 1;
        await rows.set(row.id, { failures, lockedUntilMs: nowMs + signInDelayS(failures) * 1000 });
        const totpSecret = row.totpSecret && vault.open(row.totpSecret, totpSecretName(row.id));
        return { person: toPerson(row), password: row.password, totpSecret, totpStep: row.totpStep };
      });
    },
    /**
     * Uses the factor up, and starts a session or makes a one-time link.
     * @param proved `password`: as it was stored when it was found right; null if none was asked for. `factor`: null
     * for a person who has none, whose session may not do what needs one. `address`: of the request, for the audit log
     * @returns false when the factor was used before, or when password or app was replaced or set up meanwhile
     */
    async complete(
      begun: WebSession | OwnLink,
      { factor, password, address }: Readonly<{ factor: AnyFactor | null; password: string | null; address: string }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const { personId } = begun;
        const row = await rows.byId(personId);
        const isRecovery = factor !== null && 'recoveryHash' in factor;
        if (!row || (password !== null && row.password !== password) || (isRecovery && !('salt' in begun)))
          return false;
        if (!(await useFactor(row, factor, act))) return false;
        if ('salt' in begun) await setLink(db, personId, begun);
        else await startSession(db, factor ? begun : unproved(begun));
        if (isRecovery) await warnOfRecovery(db, row.name, address, act);
        await recordAct(db, act, { target: personId, before: null, after: { second_factor: kindOf(factor), address } });
        return true;
      });
    },
    /**
     * Uses the factor up, gives the session another token, and lets it do more until `sudoUntilMs`. It clears the count
     * of attempts.
     * @param renewed `hash`: of the new token; with the token of before the session can be found until
     * `previousUntilMs`, for requests that were on their way, but may not do more
     * @returns false when the factor was used before, or the session has ended
     */
    async confirmWebSession(
      { hash, personId }: Pick<WebSession, 'hash' | 'personId'>,
      factor: UsedFactor,
      renewed: Readonly<{ hash: string; previousUntilMs: number; sudoUntilMs: number }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const [row, session] = [await rows.byId(personId), await findRow(db, webSessions, { hash, personId })];
        if (!row || !session || !(await useFactor(row, factor, act))) return false;
        await changeRows(db, webSessions, { hash, personId }, { ...renewed, previousHash: hash });
        await recordAct(db, act, { target: personId, before: null, after: { second_factor: kindOf(factor) } });
        return true;
      });
    },
  };
}

function passkeyCommands(db: Db) {
  const { orm } = db;
  const rows = personRows(db);
  type Recorded = Readonly<{ before: AuditedState; after: AuditedState }>;

  /**
   * Changes what the person of a session signs in with, and ends the person's other sessions.
   * @param change returns null to change nothing
   * @returns false when nothing was changed, or the session has ended
   */
  const changeOwn = (
    { personId, formToken }: Session,
    act: OperatorAct,
    change: (row: PersonRow) => Promise<Recorded | null>,
  ): Promise<boolean> => {
    return db.write(async () => {
      const own = eq(webSessions.personId, personId);
      const row = await rows.byId(personId);
      const isOpen = await findRow(db, webSessions, { personId, formToken });
      const recorded = row && isOpen ? await change(row) : null;
      if (!recorded) return false;
      const isOther = and(own, ne(webSessions.formToken, formToken));
      await orm.delete(webSessions).where(isOther).run();
      await recordAct(db, act, { target: personId, ...recorded });
      return true;
    });
  };

  const rowOfPasskey = async (id: string): Promise<PersonRow | undefined> =>
    (await rows.all()).find(({ passkeys }) => passkeys.some((one) => one.id === id));

  return {
    /** Adds a passkey. @returns false when the person has too many, or the passkey is known already */
    addPasskey: (session: Session, passkey: Omit<Passkey, 'usedAtMs'>, act: OperatorAct) =>
      changeOwn(session, act, async ({ id, passkeys }) => {
        if (passkeys.length >= PASSKEYS_MAX || (await rowOfPasskey(passkey.id))) return null;
        await rows.set(id, { passkeys: [...passkeys, { ...passkey, usedAtMs: null }] });
        return { before: null, after: { passkey: passkey.id, name: passkey.name } };
      }),
    /** @returns false when the person has no such passkey */
    removePasskey: (session: Session, id: string, act: OperatorAct) =>
      changeOwn(session, act, async (row) => {
        const removed = row.passkeys.find((one) => one.id === id);
        if (!removed) return null;
        await rows.set(row.id, { passkeys: row.passkeys.filter((one) => one !== removed) });
        return { before: { passkey: id, name: removed.name }, after: { passkey: null } };
      }),
    /** Returns a person's passkeys, the oldest first. */
    async listPasskeys(personId: string): Promise<readonly Passkey[]> {
      return db.read(async () => (await rows.byId(personId))?.passkeys ?? []);
    },
    /** Finds a passkey and whose it is; not of an account that has ended. */
    async findPasskey(id: string): Promise<Readonly<{ passkey: Passkey; person: Person }> | null> {
      const row = await db.read(() => rowOfPasskey(id));
      const passkey = row?.passkeys.find((one) => one.id === id);
      return row && passkey ? { passkey, person: toPerson(row) } : null;
    },
  };
}

function webSessionCommands(db: Db) {
  const { orm } = db;
  const rows = personRows(db);
  return {
    /** Returns who a session belongs to, while it lasts, and notes its use at most once a minute. */
    async findWebSession(
      hash: string,
      nowMs: number,
      limits: WebSessionLimits,
    ): Promise<Readonly<{ person: Person; session: WebSession }> | null> {
      const found = await db.read(async () => {
        const before = and(eq(webSessions.previousHash, hash), gt(webSessions.previousUntilMs, nowMs));
        const isIt = or(eq(webSessions.hash, hash), before);
        const row = await orm.select().from(webSessions).where(isIt).get();
        const session = row && toSession(row, row.hash === hash);
        const person = session && isAlive(session, nowMs, limits) ? await rows.byId(session.personId) : undefined;
        return session && person ? { session, person: toPerson(person) } : null;
      });
      if (found && found.session.seenAtMs + SEEN_EVERY_MS <= nowMs) {
        await db.write(() => changeRows(db, webSessions, { hash: found.session.hash }, { seenAtMs: nowMs }));
      }
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
