/**
 * People and their memberships.
 */
import { and, eq, isNull } from 'drizzle-orm';
import type { Membership } from '../../core/access.ts';
import { invariant } from '../../core/fault.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { memberships, people } from '../tables.ts';
import { type Person, personReader } from './person.ts';
import { endAccess } from './sign-ins.ts';

const unused = {
  password: null,
  totpSecret: null,
  totpStep: 0,
  failures: 0,
  lockedUntilMs: 0,
  removedAtMs: null,
  recoveryHashes: [],
};

const shown = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

type NewPerson = Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>;

/** Returns the repository of people. */
export function peopleCommands(db: Db, { recordAct }: Readonly<{ recordAct: RecordAct }>) {
  const { orm } = db;
  const { rowOf, rowNamed, toPerson } = personReader(db);

  function setRole(personId: string, { role, storeId }: Membership): void {
    const isSame = storeId === null ? isNull(memberships.storeId) : eq(memberships.storeId, storeId);
    orm
      .delete(memberships)
      .where(and(eq(memberships.personId, personId), isSame))
      .run();
    orm.insert(memberships).values({ personId, storeId, role }).run();
  }

  return {
    /** @returns false when the name is taken, in any spelling */
    async add({ id, name, membership, createdAtMs }: NewPerson, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        if (rowNamed(name)) return false;
        orm
          .insert(people)
          .values({ id, name, createdAtMs, ...unused })
          .run();
        setRole(id, membership);
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
        setRole(personId, membership);
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
        endAccess(db, personId);
        recordAct(act, { target: personId, before: { name: row.name, removed: false }, after: { removed: true } });
        return true;
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
}
