/**
 * Passkeys of people.
 */

import { and, asc, count, eq, lt } from 'drizzle-orm';
import type { RaiseAlarm } from '../alarms.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { passkeys } from '../tables.ts';
import type { Passkey, Person, UsedFactor } from './person.ts';
import { endOtherSessions } from './web-sessions.ts';

const PASSKEYS_MAX = 10;

/**
 * Notes the use of a passkey that was found right. One that counts its signatures must have counted on: if not, it was
 * copied, which raises an alarm.
 * @returns false when it was removed or has not counted on
 */
export function usePasskey(
  { orm }: Db,
  { raiseAlarm }: Readonly<{ raiseAlarm: RaiseAlarm }>,
  { id: personId, name }: Pick<Person, 'id' | 'name'>,
  { passkeyId, counter }: Extract<UsedFactor, { passkeyId: string }>,
  atMs: number,
): boolean {
  const isIt = and(eq(passkeys.id, passkeyId), eq(passkeys.personId, personId));
  const hasCounted = counter === 0 ? eq(passkeys.counter, 0) : lt(passkeys.counter, counter);
  const { changes } = orm.update(passkeys).set({ counter, usedAtMs: atMs }).where(and(isIt, hasCounted)).run();
  if (changes === 1) return true;
  if (orm.select().from(passkeys).where(isIt).get()) {
    const message =
      `A passkey of ${name} was used with a signature count that is not newer than the last: it may have been copied. ` +
      `It was refused. Remove it under My account, or run \`quayside user link ${name}\`.`;
    raiseAlarm({ atMs, code: 'passkey_copied', message, network: null, sessionId: null });
  }
  return false;
}

export function passkeyCommands(
  db: Db,
  { recordAct }: Readonly<{ recordAct: RecordAct }>,
  personOf: (id: string) => Person | null,
) {
  const { orm } = db;
  return {
    /**
     * Adds a passkey, and ends the person's sessions but one.
     * @param keepFormToken of the session that goes on
     * @returns false when the person has too many, or the passkey is known already
     */
    async addPasskey(passkey: Omit<Passkey, 'usedAtMs'>, keepFormToken: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        const { id, personId, name } = passkey;
        const own = orm.select({ of: count() }).from(passkeys).where(eq(passkeys.personId, personId)).get();
        if ((own?.of ?? 0) >= PASSKEYS_MAX || !personOf(personId)) return false;
        if (orm.insert(passkeys).values(passkey).onConflictDoNothing().run().changes === 0) return false;
        endOtherSessions(db, personId, keepFormToken);
        recordAct(act, { target: personId, before: null, after: { passkey: id, name } });
        return true;
      });
    },
    /** Returns a person's passkeys, the oldest first. */
    async listPasskeys(personId: string): Promise<readonly Passkey[]> {
      return db.read(() =>
        orm
          .select()
          .from(passkeys)
          .where(eq(passkeys.personId, personId))
          .orderBy(asc(passkeys.createdAtMs), asc(passkeys.id))
          .all(),
      );
    },
    /** Finds a passkey and whose it is; not of an account that has ended. */
    async findPasskey(id: string): Promise<Readonly<{ passkey: Passkey; person: Person }> | null> {
      return db.read(() => {
        const passkey = orm.select().from(passkeys).where(eq(passkeys.id, id)).get();
        const person = passkey && personOf(passkey.personId);
        return passkey && person ? { passkey, person } : null;
      });
    },
    /** Removes a passkey, and ends the person's sessions but one. @returns false when the person has no such passkey */
    async removePasskey(personId: string, id: string, keepFormToken: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        const isIt = and(eq(passkeys.id, id), eq(passkeys.personId, personId));
        const row = orm.select().from(passkeys).where(isIt).get();
        if (!row) return false;
        orm.delete(passkeys).where(isIt).run();
        endOtherSessions(db, personId, keepFormToken);
        recordAct(act, { target: personId, before: { passkey: id, name: row.name }, after: { passkey: null } });
        return true;
      });
    },
  };
}
