/**
 * What people sign in with: passwords, the secrets of their one-time codes, recovery codes.
 */

import { and, eq } from 'drizzle-orm';
import type { RaiseAlarm } from '../alarms.ts';
import type { OperatorAct, RecordAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { people, webSessions } from '../tables.ts';
import type { Vault } from '../vault.ts';
import type { ChangedSecret, NewFactor, WebSession } from './person.ts';
import { endOtherSessions } from './web-sessions.ts';

/** The name under which the secret of a person's one-time codes is sealed. */
export const totpSecretName = (personId: string): string => `one-time codes of ${personId}`;

/** What is undefined stays as it is. */
type WrittenSecrets = Partial<
  Omit<NewFactor, 'totpSecret'> & Readonly<{ password: string; totpSecret: string | null }>
>;

/** Takes the place of what a person has; clears the account's count of attempts. To be used within a transaction. */
export function writeSecrets(
  { orm }: Pick<Db, 'orm'>,
  vault: Vault,
  personId: string,
  { password, totpSecret, totpStep, recoveryHashes }: WrittenSecrets,
): void {
  const sealed = totpSecret && vault.seal(totpSecret, totpSecretName(personId));
  orm
    .update(people)
    .set({ password, totpSecret: sealed, totpStep, recoveryHashes, failures: 0, lockedUntilMs: 0 })
    .where(eq(people.id, personId))
    .run();
}

type SecretParts = Readonly<{
  vault: Vault;
  recordAct: RecordAct;
  raiseAlarm: RaiseAlarm;
}>;

/** Returns the state that the audit log records. */
function auditedOf(changed: ChangedSecret) {
  if ('password' in changed) return { password: 'set' };
  if ('totpSecret' in changed || 'first' in changed) return { second_factor: 'set' };
  return { recovery_codes: changed.recoveryHashes.length };
}

export function secretCommands(db: Db, { vault, recordAct, raiseAlarm }: SecretParts) {
  const { orm, read, write } = db;

  const hasApp = (personId: string): boolean =>
    orm.select({ secret: people.totpSecret }).from(people).where(eq(people.id, personId)).get()?.secret !== null;

  /** Ends the right to replace the app without the one before, and tells whoever looks at alarms. */
  function replaceLost({ hash, personId, address }: typeof webSessions.$inferSelect, { atMs }: OperatorAct): void {
    orm.update(webSessions).set({ isRecovered: false }).where(eq(webSessions.hash, hash)).run();
    const name = orm.select({ name: people.name }).from(people).where(eq(people.id, personId)).get()?.name ?? personId;
    const message =
      `${name} signed in with a recovery code, and replaced the authenticator app with the password, from ${address}. ` +
      `If that was not ${name}: \`quayside user link ${name}\` ends it.`;
    raiseAlarm({ atMs, code: 'recovery_code_used', message, network: null, sessionId: null });
  }

  return {
    /**
     * Sets what somebody signs in with who is signed in: the former one ends, and so do the person's other sessions.
     * The count of attempts is cleared. An app that takes the place of one that is lost, in a session that began with a
     * recovery code, raises an alarm.
     * @returns false when the session has ended, or the person has an app where it would be the first
     */
    async changeSecret(
      { personId, formToken }: Pick<WebSession, 'personId' | 'formToken'>,
      changed: ChangedSecret,
      act: OperatorAct,
    ): Promise<boolean> {
      return write(() => {
        const isIt = and(eq(webSessions.personId, personId), eq(webSessions.formToken, formToken));
        const session = orm.select().from(webSessions).where(isIt).get();
        if (!session || ('first' in changed && hasApp(personId))) return false;
        const isLost = session.isRecovered && 'totpSecret' in changed;
        writeSecrets(db, vault, personId, 'first' in changed ? changed.first : changed);
        endOtherSessions(db, personId, formToken);
        const after = auditedOf(changed);
        recordAct(act, { target: personId, before: null, after: { ...after, ...(isLost && { by: 'recovery code' }) } });
        if (isLost) replaceLost(session, act);
        return true;
      });
    },
    /** Returns how many recovery codes a person has left. */
    async countRecoveryCodes(personId: string): Promise<number> {
      const own = orm.select({ hashes: people.recoveryHashes }).from(people).where(eq(people.id, personId));
      return read(() => own.get()?.hashes.length ?? 0);
    },
  };
}
