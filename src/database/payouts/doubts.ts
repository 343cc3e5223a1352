/**
 * Doubts whether a payout was paid by a transaction that this database does not know. Only without any is a payout
 * canceled, given another payee, or ended as never paid.
 */
import { isPayback } from '../../core/intent.ts';
import { LOCK_SET } from '../../core/payout-exit.ts';
import { type Reason, reason } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { findBy } from '../engine/prepared.ts';
import { payoutEngines, type payouts } from '../tables.ts';
import { type Freezer, isAutomatic } from './holds.ts';
import type { EqualTransfer, Outgoing } from './outgoing.ts';

type PayoutRow = typeof payouts.$inferSelect;
type Intended = Pick<PayoutRow, 'intent'>;

/** Why an engine does nothing after the database was restored from a backup. */
const NOT_ADOPTED = 'payouts_not_adopted';

/** To be called within a transaction. */
export type Doubts = ReturnType<typeof createDoubts>;

export function createDoubts(
  db: Db,
  { freezer, outgoing }: Readonly<{ freezer: Freezer; outgoing: Pick<Outgoing, 'equalTo'> }>,
) {
  const engine = findBy(db, payoutEngines, 'network');

  /**
   * Returns why payouts of a network may have been paid, or signed, by what this database does not know; null if that
   * is excluded. The freezes with which the program stopped the network count, those of operators do not.
   */
  async function doubtOf({ network }: Pick<PayoutRow, 'network'>): Promise<Reason | null> {
    const { reasonCode = null, reasonMessage, settlingUntilMs = null } = (await engine.get({ network })) ?? {};
    if (reasonCode === NOT_ADOPTED) return { code: reasonCode, message: reasonMessage ?? '' };
    if (settlingUntilMs !== null)
      return reason('payouts_settling', { network, until: 'its engine has read the chain' });
    const freeze = (await freezer.of(network)).find(isAutomatic);
    return freeze ? { code: freeze.code, message: freeze.reason } : null;
  }

  /** Returns transfers that may have paid a refund: no attempt explains them, and nobody has said that they did not. */
  const equalTo = async ({ intent }: Intended): Promise<EqualTransfer[]> =>
    isPayback(intent) ? await outgoing.equalTo(intent) : [];

  return {
    doubtOf,
    equalTo,
    /** Returns false while a network's engine knows that this database is older than the signer's journal. */
    isAdopted: async (network: NetworkKey): Promise<boolean> =>
      (await engine.get({ network }))?.reasonCode !== NOT_ADOPTED,
    /** Returns whether a network settles in after a gap. */
    isSettling: async (network: NetworkKey): Promise<boolean> =>
      ((await engine.get({ network }))?.settlingUntilMs ?? null) !== null,
    /** Returns `doubtOf`, or a lock on the chain: nobody asks the nodes before this end. */
    async doubtUnseen(row: PayoutRow): Promise<Reason | null> {
      const { waitCode, waitMessage } = row;
      return (await doubtOf(row)) ?? (waitCode === LOCK_SET ? { code: LOCK_SET, message: waitMessage ?? '' } : null);
    },
    /** Returns why a refund is neither paid nor ended: a transfer that no attempt explains may have paid it. */
    async unexplainedHold(row: Intended): Promise<Reason | null> {
      const equal = await equalTo(row);
      if (equal.some(({ state }) => state !== 'known')) return reason('refund_maybe_paid');
      const [first] = equal;
      // It may be this refund, lost with the newest state of the database, or another payment of the same amount.
      return first ? reason('refund_equals_transfer', { id: row.intent.id, tx: first.tx }) : null;
    },
  };
}
