/**
 * Whether this database can exclude that a payout was paid by a transaction that it does not know: only then is a
 * payout canceled, given another payee, or ended as never paid.
 */
import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import { isPayback } from '../../../core/intent.ts';
import { LOCK_SET } from '../../../core/payout-exit.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import { WALLETS_UNKNOWN } from '../../freezes.ts';
import type { EngineReason } from '../../money-out.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { lanes, ownWallets, payoutEngines, payoutFreezes } from '../tables.ts';
import { createGapFreezes, NONCE_FOREIGN, ROW_ALTERED } from './freezes.ts';
import type { PayoutRow } from './rows.ts';

/** To be called within a transaction. */
export type Certainty = Readonly<{
  /** Returns false while a network's engine knows that this database is older than the signer's journal. */
  isAdopted(network: NetworkKey): boolean;
  /** Returns whether a network settles in after a gap. */
  isSettling(network: NetworkKey): boolean;
  /**
   * Returns why the payout may have been paid, or signed, by what neither this database nor the signer knows; null if
   * that is excluded. From each start on it is not, until the engine has read the chain.
   */
  doubtOf(row: Pick<PayoutRow, 'network' | 'intent' | 'state' | 'waitCode'>): EngineReason | null;
  /** The same for one that nobody ends on what the nodes show: there, a lock on the chain is a reason, too. */
  doubtUnseen(row: PayoutRow): EngineReason | null;
}>;

/** Why an engine does nothing after the database was restored from a backup. */
const NOT_ADOPTED = 'payouts_not_adopted';
/** Freezes while payments may have been missed, and nothing else shows them. */
const blind: readonly string[] = [WALLETS_UNKNOWN, ROW_ALTERED];

export function createCertainty(db: Db): Certainty {
  const { orm } = db;
  const engine = atFirstUse(
    orm
      .select({ reasonCode: payoutEngines.reasonCode, settlingUntilMs: payoutEngines.settlingUntilMs })
      .from(payoutEngines)
      .where(eq(payoutEngines.network, sql.placeholder('network'))),
  );
  const blindFreeze = atFirstUse(
    orm
      .select()
      .from(payoutFreezes)
      .where(and(eq(payoutFreezes.network, sql.placeholder('network')), inArray(payoutFreezes.code, [...blind])))
      .orderBy(asc(payoutFreezes.code))
      .limit(1),
  );
  // Only refund wallets pay refunds: what halted another has paid none.
  const haltedRefundWallet = atFirstUse(
    orm
      .select({ payer: lanes.payer })
      .from(ownWallets)
      .innerJoin(lanes, and(eq(lanes.network, ownWallets.network), eq(lanes.payer, ownWallets.key)))
      .where(
        and(
          eq(ownWallets.network, sql.placeholder('network')),
          sql`${ownWallets.role} = 'refund'`,
          eq(lanes.haltedCode, NONCE_FOREIGN),
        ),
      )
      .limit(1),
  );
  const gapFreezes = createGapFreezes(db);

  /** What a payout is stuck for is no reason itself: its own attempts say what became of its number. */
  const isHaltedFor = ({ network, state, waitCode, intent }: Parameters<Certainty['doubtOf']>[0]): boolean =>
    isPayback(intent) &&
    !(state === 'stuck' && waitCode === NONCE_FOREIGN) &&
    haltedRefundWallet.get({ network }) !== undefined;

  const doubtOf: Certainty['doubtOf'] = (row) => {
    const { network } = row;
    const { reasonCode = null, settlingUntilMs = null } = engine.get({ network }) ?? {};
    if (settlingUntilMs !== null || reasonCode === NOT_ADOPTED) return unread(network, reasonCode);
    const freeze = blindFreeze.get({ network }) ?? gapFreezes.find(network);
    if (freeze) return { code: freeze.code, message: freeze.reason };
    return isHaltedFor(row) ? unexplainedNumber(network) : null;
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

const unexplainedNumber = (network: NetworkKey): EngineReason => ({
  code: NONCE_FOREIGN,
  message:
    `a refund wallet of ${network} has used a number that no payout here explains. \`quayside payout resume ${network}\` ` +
    'reads what used it, and settles the refund that it paid',
});
