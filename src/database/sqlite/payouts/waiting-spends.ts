/**
 * Gas and sweeps that wait, unsigned, to do exactly what a transaction has done that is learned from the chain: they
 * were planned before the state to which a machine was put back, and done by the run that was lost.
 * @module
 */
import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { GasIntent, Intent, SweepIntent } from '../../../core/intent.ts';
import { isSameIntent } from '../column-types.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { payouts } from '../tables.ts';
import type { PayoutRow } from './rows.ts';

/** Returns a function that finds the oldest payout that waits to do what an intent does, whatever its id. */
export function createWaitingSpends({ orm }: Db): (intent: Intent) => PayoutRow | undefined {
  /** Prepares the search for payouts that wait, the oldest first. */
  const waitingOf = (kind: 'gas' | 'sweep', ...where: readonly SQL[]) =>
    atFirstUse(
      orm
        .select()
        .from(payouts)
        .where(
          and(
            eq(payouts.network, sql.placeholder('network')),
            eq(payouts.state, sql`'waiting'`),
            eq(payouts.kind, sql.raw(`'${kind}'`)),
            ...where,
          ),
        )
        .orderBy(asc(payouts.createdAtMs), asc(payouts.id)),
    );
  const gas = waitingOf(
    'gas',
    sql`${payouts.intent} ->> '$.form' = ${sql.placeholder('form')}`,
    sql`${payouts.intent} ->> '$.index' IS ${sql.placeholder('index')}`,
    sql`${payouts.intent} ->> '$.refundIndex' IS ${sql.placeholder('refundIndex')}`,
    sql`${payouts.intent} ->> '$.units' = ${sql.placeholder('units')}`,
  );
  const sweeps = waitingOf(
    'sweep',
    sql`${payouts.id} IN (SELECT payout_id FROM sweep_parts WHERE network = ${sql.placeholder('network')} AND derivation_index = ${sql.placeholder('index')})`,
  );
  const waitingGas = ({ network, form, index, refundIndex, units }: GasIntent) =>
    gas.get({ network, form, index: index ?? null, refundIndex: refundIndex ?? null, units: `${units}` });
  const waitingSweep = (intent: SweepIntent) =>
    sweeps
      .all({ network: intent.network, index: intent.from[0]?.index ?? 0 })
      .find((row) => isSameIntent({ ...row.intent, id: intent.id }, intent));
  return (intent) =>
    intent.kind === 'gas' ? waitingGas(intent) : intent.kind === 'sweep' ? waitingSweep(intent) : undefined;
}
