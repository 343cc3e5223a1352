/**
 * What payout engines have last seen of the signer: its freeze and its policy. Both are changed where no database is,
 * so a difference is entered in the audit log when it is seen.
 * @module
 */
import { eq, sql } from 'drizzle-orm';
import type { AuditedChange } from '../../audit-log.ts';
import type { MoneyOutDatabase, SeenSignerFreeze, SeenSignerPolicy, SeenSignerThaw } from '../../money-out.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { RecordAct } from '../audit-log.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { seenSigner } from '../tables.ts';
import { PROGRAM } from './freezes.ts';

const TARGET = 'signer';
/** An alarm shows as many settings, and the audit log all of them. */
const SHOWN_MAX = 4;
/** A wallet that pays instead of another has an alarm of its own, once it pays. */
const isRotation = (setting: string): boolean => / wallets\.(refund|gas)$/.test(setting);

/** Enters the begin and the end of a freeze that is not the one seen before; to be called within a transaction. */
export type FollowFreeze = (freeze: SeenSignerFreeze | null, thaw: SeenSignerThaw | null, nowMs: number) => void;

export function createSeenSigner(
  { orm, write }: Db,
  recordAct: RecordAct,
  raiseAlarm: RaiseAlarm,
): Pick<MoneyOutDatabase, 'reportSignerPolicy'> & Readonly<{ followFreeze: FollowFreeze }> {
  const seen = atFirstUse(orm.select().from(seenSigner).where(eq(seenSigner.id, sql`1`)));
  const save = (set: Partial<Omit<typeof seenSigner.$inferInsert, 'id'>>): void =>
    void orm
      .insert(seenSigner)
      .values({ id: 1, ...set })
      .onConflictDoUpdate({ target: seenSigner.id, set })
      .run();

  return {
    followFreeze(freeze, thaw, nowMs) {
      const before = seen.get()?.freeze ?? null;
      if (JSON.stringify(before) === JSON.stringify(freeze)) return;
      if (before) {
        const isKnown = thaw?.frozenAtMs === before.frozenAtMs;
        const by = isKnown ? thaw.thawedBy : PROGRAM;
        const reason = isKnown ? null : 'the signer is no longer frozen, and does not say who ended that';
        const after = isKnown ? { thawedAtMs: thaw.thawedAtMs } : null;
        recordAct({ atMs: nowMs, operator: by, command: 'signer thaw', reason }, { target: TARGET, before, after });
      }
      if (freeze) {
        const { reason, frozenBy: operator } = freeze;
        const act = { atMs: nowMs, operator, command: 'signer freeze', reason };
        recordAct(act, { target: TARGET, before: null, after: freeze });
      }
      save({ freeze });
    },
    async reportSignerPolicy(policy, nowMs) {
      await write(() => {
        const before = seen.get()?.policy ?? null;
        const change = before && changeOf(before, policy);
        if (before && !change) return;
        save({ policy });
        if (!change) return;
        const reason = 'the policy of the signer that runs now differs from the one before';
        recordAct({ atMs: nowMs, operator: PROGRAM, command: 'signer policy', reason }, change);
        const settings = Object.keys(change.before ?? {}).filter((one) => !isRotation(one));
        if (settings.length === 0) return;
        const message = changedText(settings, change);
        raiseAlarm({ atMs: nowMs, code: 'signer_policy_changed', message, network: null, sessionId: null });
      });
    },
  };
}

/** Returns the settings that differ, each as null where it is missing; null if none does. */
function changeOf(before: SeenSignerPolicy, after: SeenSignerPolicy): AuditedChange | null {
  const settings = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (one) => before[one] !== after[one],
  );
  if (settings.length === 0) return null;
  const of = (policy: SeenSignerPolicy) => Object.fromEntries(settings.map((one) => [one, policy[one] ?? null]));
  return { target: TARGET, before: of(before), after: of(after) };
}

function changedText(settings: readonly string[], { before, after }: AuditedChange): string {
  const shown = settings
    .slice(0, SHOWN_MAX)
    .map((one) => `${one}: ${before?.[one] ?? 'none'} → ${after?.[one] ?? 'none'}`);
  const more = settings.length - shown.length;
  return (
    `The policy of the signer has changed: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}. ` +
    '`quayside audit list` shows all of it. If nobody here ordered that, somebody may write the signer’s policy.json: ' +
    'run `quayside signer freeze --because …` and `quayside payouts freeze --because …`, and correct the file.'
  );
}
