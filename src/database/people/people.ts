/**
 * People and their memberships, and the ways to sign in.
 */

import { and, desc, eq, gt, isNull, lt } from 'drizzle-orm';
import { type Membership, signInDelayS } from '../../core/access.ts';
import { invariant } from '../../core/fault.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { memberships, passkeys, people, webSessions } from '../tables.ts';
import type { Vault } from '../vault.ts';
import { passkeyCommands, usePasskey } from './passkeys.ts';
import type { NewSecrets, Person, SignInSecrets, UsedFactor, WebSession } from './person.ts';
import { secretCommands, totpSecretName, writeSecrets } from './secrets.ts';
import { webSessionCommands } from './web-sessions.ts';

type PersonRow = typeof people.$inferSelect;

/** A person's sessions beyond this many end, the oldest first. */
const WEB_SESSIONS_MAX = 20;

const noLink = { linkHash: null, linkSalt: null, linkExpiresAtMs: null };

const noFactor = { totpSecret: null, totpStep: 0, recoveryHashes: [] };

/** A session that may not do what needs a second factor. */
const unproved = (session: WebSession): WebSession => ({ ...session, sudoUntilMs: 0 });

const kindOf = (factor: UsedFactor | null): string =>
  factor === null
    ? 'none'
    : 'totpStep' in factor
      ? 'one-time code'
      : 'passkeyId' in factor
        ? 'passkey'
        : 'recovery code';

const shown = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

type PeopleParts = Readonly<{
  vault: Vault;
  recordAct: RecordAct;
  raiseAlarm: RaiseAlarm;
}>;

function addMembership(orm: Db['orm'], personId: string, { role, storeId }: Membership): void {
  const isSame = storeId === null ? isNull(memberships.storeId) : eq(memberships.storeId, storeId);
  orm
    .delete(memberships)
    .where(and(eq(memberships.personId, personId), isSame))
    .run();
  orm.insert(memberships).values({ personId, storeId, role }).run();
}

function startSession(orm: Db['orm'], session: WebSession, isRecovered = false): void {
  const own = eq(webSessions.personId, session.personId);
  const older = orm.select().from(webSessions).where(own).orderBy(desc(webSessions.startedAtMs)).all();
  for (const { hash } of older.slice(WEB_SESSIONS_MAX - 1)) {
    orm.delete(webSessions).where(eq(webSessions.hash, hash)).run();
  }
  const { sudoUntilMs } = session;
  orm
    .insert(webSessions)
    .values({ ...session, isRecovered, sudoUntilMs: isRecovered ? 0 : sudoUntilMs })
    .run();
}

/** Returns the repositories of people and of how they sign in, over the same rows. */
export function peopleCommands(db: Db, parts: PeopleParts) {
  const { vault, recordAct } = parts;
  const { orm } = db;

  function toPerson(row: PersonRow): Person {
    const own = orm
      .select()
      .from(memberships)
      .where(eq(memberships.personId, row.id))
      .orderBy(memberships.storeId)
      .all();
    return {
      id: row.id,
      name: row.name,
      memberships: own.map(({ role, storeId }) => ({ role, storeId }) as Membership),
      isReady: row.password !== null,
      hasFactor: row.totpSecret !== null,
      zone: row.zone,
      language: row.language,
      createdAtMs: row.createdAtMs,
      removedAtMs: row.removedAtMs,
    };
  }

  const rowOf = (id: string): PersonRow | undefined =>
    orm
      .select()
      .from(people)
      .where(and(eq(people.id, id), isNull(people.removedAtMs)))
      .get();

  const rowNamed = (name: string): PersonRow | undefined =>
    orm
      .select()
      .from(people)
      .where(and(eq(people.name, name), isNull(people.removedAtMs)))
      .get();

  /** Returns whose link is open. */
  const rowOfLink = (hash: string, nowMs: number): PersonRow | undefined =>
    orm
      .select()
      .from(people)
      .where(and(eq(people.linkHash, hash), gt(people.linkExpiresAtMs, nowMs), isNull(people.removedAtMs)))
      .get();

  /** Signs a person out everywhere, links included. */
  function endAccess(personId: string): void {
    orm.update(people).set(noLink).where(eq(people.id, personId)).run();
    orm.delete(webSessions).where(eq(webSessions.personId, personId)).run();
  }

  /**
   * Uses a factor up, and ends the delay after wrong attempts. A recovery code raises an alarm.
   * @param factor null: of a person who has none
   * @returns false when the factor was used before, or its app was replaced or set up meanwhile
   */
  function useFactor(
    { id, name, totpSecret, recoveryHashes }: PersonRow,
    factor: UsedFactor | null,
    { address }: Pick<WebSession, 'address'>,
    act: OperatorAct,
  ): boolean {
    if (factor === null) {
      if (totpSecret !== null) return false;
    } else if ('totpStep' in factor) {
      const { totpStep } = factor;
      if (totpSecret === null || vault.open(totpSecret, totpSecretName(id)) !== factor.totpSecret) return false;
      const isNewer = and(eq(people.id, id), lt(people.totpStep, totpStep));
      if (orm.update(people).set({ totpStep }).where(isNewer).run().changes !== 1) return false;
    } else if ('passkeyId' in factor) {
      if (!usePasskey(db, parts, { id, name }, factor, act.atMs)) return false;
    } else {
      const left = recoveryHashes.filter((hash) => hash !== factor.recoveryHash);
      if (left.length === recoveryHashes.length) return false;
      orm.update(people).set({ recoveryHashes: left }).where(eq(people.id, id)).run();
      const message =
        `${name} signed in to the dashboard with a recovery code, from ${address}. If that was not ` +
        `${name}: \`quayside user link ${name}\` ends it.`;
      parts.raiseAlarm({ atMs: act.atMs, code: 'recovery_code_used', message, network: null, sessionId: null });
    }
    orm.update(people).set({ failures: 0, lockedUntilMs: 0 }).where(eq(people.id, id)).run();
    return true;
  }

  /** Takes the place of everything that a person signs in with. */
  function setSecrets(personId: string, { password, factor }: NewSecrets): void {
    writeSecrets(db, vault, personId, { password, ...(factor ?? noFactor) });
    orm.delete(passkeys).where(eq(passkeys.personId, personId)).run();
  }

  const personOf = (id: string): Person | null => {
    const row = rowOf(id);
    return row ? toPerson(row) : null;
  };

  const peopleOf = {
    ...passkeyCommands(db, parts, personOf),
    ...secretCommands(db, parts),
    /** @returns false when the name is taken, in any spelling */
    async add(
      {
        id,
        name,
        membership,
        createdAtMs,
      }: Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(() => {
        if (rowNamed(name)) return false;
        const empty = {
          password: null,
          totpSecret: null,
          totpStep: 0,
          failures: 0,
          lockedUntilMs: 0,
          removedAtMs: null,
          recoveryHashes: [],
          ...noLink,
        };
        orm
          .insert(people)
          .values({ id, name, createdAtMs, ...empty })
          .run();
        addMembership(orm, id, membership);
        recordAct(act, { target: id, before: null, after: { name, role: shown(membership) } });
        return true;
      });
    },
    /** Adds a membership, or changes the role in that store. */
    async setMembership(personId: string, membership: Membership, act: OperatorAct): Promise<void> {
      await db.write(() => {
        const row = rowOf(personId);
        invariant(row, `there is an account ${personId}`);
        const before = toPerson(row).memberships.find(({ storeId }) => storeId === membership.storeId);
        addMembership(orm, personId, membership);
        recordAct(act, {
          target: personId,
          before: { role: before ? shown(before) : null },
          after: { role: shown(membership) },
        });
      });
    },
    /** Ends somebody's role in a store. @returns false when there is none */
    async removeMembership(personId: string, storeId: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        const row = rowOf(personId);
        const before = row && toPerson(row).memberships.find((own) => own.storeId === storeId);
        if (!before) return false;
        const isIt = and(eq(memberships.personId, personId), eq(memberships.storeId, storeId));
        orm.delete(memberships).where(isIt).run();
        recordAct(act, { target: personId, before: { role: shown(before) }, after: { role: null } });
        return true;
      });
    },
    /** Ends an account and everything that it is signed in with. @returns false when there is none, or it has ended */
    async remove(personId: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        const row = rowOf(personId);
        if (!row) return false;
        orm.update(people).set({ removedAtMs: act.atMs }).where(eq(people.id, personId)).run();
        endAccess(personId);
        recordAct(act, { target: personId, before: { name: row.name, removed: false }, after: { removed: true } });
        return true;
      });
    },
    /** Sets the zone in which somebody looks at pages. */
    async setZone(personId: string, zone: string | null, act: OperatorAct): Promise<void> {
      await db.write(() => {
        const before = rowOf(personId);
        if (!before || before.zone === zone) return;
        orm.update(people).set({ zone }).where(eq(people.id, personId)).run();
        recordAct(act, { target: personId, before: { zone: before.zone }, after: { zone } });
      });
    },
    /** Sets the language of the pages that somebody looks at. */
    async setLanguage(personId: string, language: string | null, act: OperatorAct): Promise<void> {
      await db.write(() => {
        const before = rowOf(personId);
        if (!before || before.language === language) return;
        orm.update(people).set({ language }).where(eq(people.id, personId)).run();
        recordAct(act, { target: personId, before: { language: before.language }, after: { language } });
      });
    },
    async list(): Promise<readonly Person[]> {
      return db.read(() => orm.select().from(people).orderBy(people.createdAtMs, people.id).all().map(toPerson));
    },
    /** Finds an account by its name, in any case; not one that has ended. */
    async find(name: string): Promise<Person | null> {
      return db.read(() => {
        const row = rowNamed(name);
        return row ? toPerson(row) : null;
      });
    },
  };
  const signIns = {
    ...webSessionCommands(db, recordAct, personOf),
    /**
     * Makes a one-time link; earlier links of the person end, and so does everything that they are signed in with.
     * @param link `salt`: random; gone once the link is used
     */
    async addLink(
      link: Readonly<{ hash: string; personId: string; salt: string; expiresAtMs: number }>,
      act: OperatorAct,
    ): Promise<void> {
      await db.write(() => {
        endAccess(link.personId);
        const own = { linkHash: link.hash, linkSalt: link.salt, linkExpiresAtMs: link.expiresAtMs };
        orm.update(people).set(own).where(eq(people.id, link.personId)).run();
        recordAct(act, { target: link.personId, before: null, after: { link_expires_at_ms: link.expiresAtMs } });
      });
    },
    async findLink(hash: string, nowMs: number): Promise<Readonly<{ person: Person; salt: string }> | null> {
      return db.read(() => {
        const row = rowOfLink(hash, nowMs);
        return row?.linkSalt ? { person: toPerson(row), salt: row.linkSalt } : null;
      });
    },
    /** Uses a link up, sets the person's secrets and signs them in. @returns false when the link is used or too old */
    async claimLink(
      { hash, secrets, session }: Readonly<{ hash: string; secrets: NewSecrets; session: WebSession }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(() => {
        if (rowOfLink(hash, session.startedAtMs)?.id !== session.personId) return false;
        endAccess(session.personId);
        setSecrets(session.personId, secrets);
        startSession(orm, secrets.factor ? session : unproved(session));
        const after = { password: 'set', second_factor: secrets.factor ? 'set' : 'none' };
        recordAct(act, { target: session.personId, before: null, after });
        return true;
      });
    },
    /**
     * Counts an attempt before it is checked, so that attempts at once cannot outrun the delay. `signIn` clears the
     * count.
     * @returns how many seconds the account waits, and takes no attempt, or 0
     */
    async begin(personId: string, nowMs: number): Promise<number> {
      return db.write(() => {
        const row = rowOf(personId);
        if (!row) return 0;
        if (row.lockedUntilMs > nowMs) return Math.ceil((row.lockedUntilMs - nowMs) / 1000);
        const failures = row.failures + 1;
        const counted = { failures, lockedUntilMs: nowMs + signInDelayS(failures) * 1000 };
        orm.update(people).set(counted).where(eq(people.id, personId)).run();
        return 0;
      });
    },
    async findSecrets(name: string): Promise<SignInSecrets | null> {
      return db.read(() => {
        const row = rowNamed(name);
        if (!row || row.password === null) return null;
        const totpSecret = row.totpSecret && vault.open(row.totpSecret, totpSecretName(row.id));
        return { person: toPerson(row), password: row.password, totpSecret, totpStep: row.totpStep };
      });
    },
    /**
     * Uses the factor up and starts a session; one that begins with a recovery code may not do more until something
     * else is proved.
     * @param proved `password`: as it was stored when it was found right; null if none was asked for. `factor`: null
     * for a person who has none, whose session may not do more either
     * @returns false when the factor was used before, or when password or app was replaced or set up meanwhile
     */
    async complete(
      session: WebSession,
      { factor, password }: Readonly<{ factor: UsedFactor | null; password: string | null }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(() => {
        const row = rowOf(session.personId);
        if (!row || (password !== null && row.password !== password)) return false;
        if (!useFactor(row, factor, session, act)) return false;
        startSession(orm, factor ? session : unproved(session), factor !== null && 'recoveryHash' in factor);
        const after = { second_factor: kindOf(factor), address: session.address };
        recordAct(act, { target: session.personId, before: null, after });
        return true;
      });
    },
    /**
     * Uses the factor up, gives the session another token, and lets it do more until `untilMs`. It clears the count of
     * attempts.
     * @param input `newHash`: of the new token; with the token of before the session can be found until
     * `previousUntilMs`, for requests that were on their way, but may not do more
     * @returns false when the factor was used before or is a recovery code, or the session has ended
     */
    async confirmWebSession(
      {
        hash,
        personId,
        factor,
        untilMs,
        newHash,
        previousUntilMs,
      }: Readonly<{
        hash: string;
        personId: string;
        factor: UsedFactor;
        untilMs: number;
        newHash: string;
        previousUntilMs: number;
      }>,
      act: OperatorAct,
    ): Promise<boolean> {
      return db.write(() => {
        const isIt = and(eq(webSessions.hash, hash), eq(webSessions.personId, personId));
        const [row, session] = [rowOf(personId), orm.select().from(webSessions).where(isIt).get()];
        // It is for signing in: whoever has found one must not let money out with it.
        if ('recoveryHash' in factor) return false;
        if (!row || !session || !useFactor(row, factor, session, act)) return false;
        const own = { previousHash: hash, previousUntilMs, isRecovered: false };
        const renewed = { hash: newHash, ...own, sudoUntilMs: untilMs };
        orm.update(webSessions).set(renewed).where(isIt).run();
        recordAct(act, { target: personId, before: null, after: { second_factor: kindOf(factor) } });
        return true;
      });
    },
  };
  return { people: peopleOf, signIns };
}
