/**
 * The browsers that people have signed in with, and attempts to sign in.
 * @module
 */
import { and, desc, eq, isNull } from 'drizzle-orm';
import { signInDelayS } from '../../../core/access.ts';
import type { Person, WebSession } from '../../people.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { Db } from '../open.ts';
import type { MailWriter } from './mail-writer.ts';
import { knownDevices, people } from './schema.ts';

/** A person's devices beyond this many are forgotten, those that were not used for longest first. */
const DEVICES_MAX = 10;

type Counted = Readonly<{ failures: number; lockedUntilMs: number }>;

export type KnownDevices = Readonly<{
  /** Counts an attempt, at the device if it is known. @returns how many seconds it waits and is not counted, or 0 */
  count(personId: string, deviceHash: string | null, nowMs: number): number;
  /** Clears what was counted there. */
  clear(personId: string, deviceHash: string | null): void;
  /** Remembers the device of a session; another one than those that are known raises an alarm. */
  note(person: Pick<Person, 'id' | 'name'>, session: WebSession): void;
  forgetAll(personId: string): void;
}>;

/** To be used within transactions. */
export function createKnownDevices(
  { orm }: Db,
  { raiseAlarm, mails }: Readonly<{ raiseAlarm: RaiseAlarm; mails: MailWriter }>,
): KnownDevices {
  const isDevice = (personId: string, hash: string) =>
    and(eq(knownDevices.personId, personId), eq(knownDevices.hash, hash));
  const find = (personId: string, hash: string | null) =>
    hash === null ? undefined : orm.select().from(knownDevices).where(isDevice(personId, hash)).get();

  function set(personId: string, deviceHash: string | null, counted: Counted): void {
    if (deviceHash !== null && find(personId, deviceHash)) {
      orm.update(knownDevices).set(counted).where(isDevice(personId, deviceHash)).run();
    } else orm.update(people).set(counted).where(eq(people.id, personId)).run();
  }

  return {
    count(personId, deviceHash, nowMs) {
      const isPerson = and(eq(people.id, personId), isNull(people.removedAtMs));
      const account = orm.select().from(people).where(isPerson).get();
      if (!account) return 0;
      const counted = find(personId, deviceHash) ?? account;
      if (counted.lockedUntilMs > nowMs) return Math.ceil((counted.lockedUntilMs - nowMs) / 1000);
      const failures = counted.failures + 1;
      set(personId, deviceHash, { failures, lockedUntilMs: nowMs + signInDelayS(failures) * 1000 });
      return 0;
    },
    clear: (personId, deviceHash) => set(personId, deviceHash, { failures: 0, lockedUntilMs: 0 }),
    note({ id: personId, name }, { deviceHash: hash, startedAtMs: usedAtMs, address }) {
      if (hash === null) return;
      const own = orm
        .select()
        .from(knownDevices)
        .where(eq(knownDevices.personId, personId))
        .orderBy(desc(knownDevices.usedAtMs))
        .all();
      if (own.some((one) => one.hash === hash)) {
        orm.update(knownDevices).set({ usedAtMs }).where(isDevice(personId, hash)).run();
        return;
      }
      for (const one of own.slice(DEVICES_MAX - 1)) {
        orm.delete(knownDevices).where(isDevice(personId, one.hash)).run();
      }
      orm.insert(knownDevices).values({ personId, hash, usedAtMs, failures: 0, lockedUntilMs: 0 }).run();
      if (own.length === 0) return;
      const message =
        `${name} signed in to the dashboard with a browser that was not used before, from ${address}. If that was not ` +
        `${name}: \`quayside user reset ${name}\` ends it.`;
      raiseAlarm({ atMs: usedAtMs, code: 'sign_in_new_device', message, network: null, sessionId: null });
      mails.tell(personId, { kind: 'new_device', address }, usedAtMs);
    },
    forgetAll(personId) {
      orm.delete(knownDevices).where(eq(knownDevices.personId, personId)).run();
    },
  };
}
