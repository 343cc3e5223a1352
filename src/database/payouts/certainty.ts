/**
 * Whether this database can exclude that a payout was paid by a transaction that it does not know: only then is a
 * payout canceled, given another payee, or ended as never paid.
 */
import { eq, sql } from 'drizzle-orm';
import { LOCK_SET } from '../../core/payout-exit.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { isAutomatic } from '../freezes.ts';
import type { EngineReason } from '../money-out.ts';
import { payoutEngines } from '../tables.ts';
import type { FreezesOf } from './freezes.ts';
import type { PayoutRow } from './rows.ts';

/** To be called within a transaction. */
export type Certainty = Readonly<{
  /** Returns false while a network's engine knows that this database is older than the signer's journal. */
  isAdopted(network: NetworkKey): boolean;
  /** Returns whether a network settles in after a gap. */
  isSettling(network: NetworkKey): boolean;
  /**
   * Returns why payouts of a network may have been paid, or signed, by what this database does not know; null if that
   * is excluded. The freezes with which the program stopped the network count, those of operators do not.
   */
  doubtOf(row: Pick<PayoutRow, 'network'>): EngineReason | null;
  /** The same for one that nobody ends on what the nodes show: there, a lock on the chain is a reason, too. */
  doubtUnseen(row: PayoutRow): EngineReason | null;
}>;

/** Why an engine does nothing after the database was restored from a backup. */
const NOT_ADOPTED = 'payouts_not_adopted';

export function createCertainty({ orm }: Db, freezesOf: FreezesOf): Certainty {
  const engine = atFirstUse(
    orm
      .select({ reasonCode: payoutEngines.reasonCode, settlingUntilMs: payoutEngines.settlingUntilMs })
      .from(payoutEngines)
      .where(eq(payoutEngines.network, sql.placeholder('network'))),
  );

  const doubtOf: Certainty['doubtOf'] = ({ network }) => {
    const { reasonCode = null, settlingUntilMs = null } = engine.get({ network }) ?? {};
    if (settlingUntilMs !== null || reasonCode === NOT_ADOPTED) return unread(network, reasonCode);
    const freeze = freezesOf(network).find(isAutomatic);
    return freeze ? { code: freeze.code, message: freeze.reason } : null;
  };

  return {
    isAdopted: (network) => engine.get({ network })?.reasonCode !== NOT_ADOPTED,
    isSettling: (network) => (engine.get({ network })?.settlingUntilMs ?? null) !== null,
    doubtOf,
    doubtUnseen(row) {
      const { waitCode, waitMessage } = row;
      return doubtOf(row) ?? (waitCode === LOCK_SET ? { code: LOCK_SET, message: waitMessage ?? '' } : null);
    },
  };
}

const unread = (network: NetworkKey, reasonCode: string | null): EngineReason => ({
  code: reasonCode === NOT_ADOPTED ? reasonCode : 'payouts_settling',
  message:
    `what was paid out on ${network} by an earlier run may not be known yet, as for some minutes after a start that follows a longer gap; ` +
    '`quayside status` says what is waited for',
});
