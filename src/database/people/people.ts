/**
 * People and their memberships.
 */
import type { Membership } from '../../core/access.ts';
import { invariant } from '../../core/fault.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { people } from '../tables.ts';
import { type Person, personRows, toPerson, withMembership } from './person.ts';
import { endAccess } from './sign-ins.ts';

const unused = {
  password: null,
  totpSecret: null,
  totpStep: 0,
  failures: 0,
  lockedUntilMs: 0,
  removedAtMs: null,
  recoveryHashes: [],
  passkeys: [],
};

const shown = ({ role, storeId }: Membership): string => (storeId === null ? role : `${role} of ${storeId}`);

type NewPerson = Readonly<{ id: string; name: string; membership: Membership; createdAtMs: number }>;

/** Returns the repository of people. */
export function peopleCommands(db: Db, { recordAct }: Readonly<{ recordAct: RecordAct }>) {
  const { orm } = db;
  const rows = personRows(db);
  return {
    /** @returns false when the name is taken, in any spelling */
    async add({ id, name, membership, createdAtMs }: NewPerson, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        if (await rows.named(name)) return false;
        await orm
          .insert(people)
          .values({ id, name, memberships: [membership], createdAtMs, ...unused })
          .run();
        await recordAct(act, { target: id, before: null, after: { name, role: shown(membership) } });
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
        await recordAct(act, {
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
        await recordAct(act, { target: personId, before: { role: shown(before) }, after: { role: null } });
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
        await recordAct(act, {
          target: personId,
          before: { name: row.name, removed: false },
          after: { removed: true },
        });
        return true;
      });
    },
    /** Sets the language of the pages that somebody looks at. */
    async setLanguage(personId: string, language: string | null, act: OperatorAct): Promise<void> {
      await db.write(async () => {
        const before = await rows.byId(personId);
        if (!before || before.language === language) return;
        await rows.set(personId, { language });
        await recordAct(act, { target: personId, before: { language: before.language }, after: { language } });
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
