/**
 * The part of the port for refunds.
 */

import { and, asc, isNotNull, sql } from 'drizzle-orm';
import type { HeldKind, Returned } from '../../core/held-money.ts';
import { isPayback } from '../../core/intent.ts';
import { MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import {
  type DestinationFrom,
  type EarlierRefund,
  isHeld,
  type RefundRefusal,
  type RefundStatus,
  type refundable,
} from '../../core/refund.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import type { OperatorAct } from '../audit-log.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, given } from '../engine/prepared.ts';
import type { Replay } from '../replays.ts';
import { payouts, refunds } from '../tables.ts';

/** A refund in its current state. `id` is ours; `refundId` is the merchant's. */
type Hidden = 'bodyHash' | 'mac' | 'linkSeen' | 'claimHash' | 'claimUntilS' | 'claimSeenAtMs';

export type Refund = Omit<typeof refunds.$inferSelect, Hidden | 'destination' | 'destinationFrom'> &
  Readonly<{
    orderId: string;
    /**
     * The payment. `address` is the key as people read it; `mac` comes from `intentMac`. `isLinkSeen`: it was named
     * through a link that staff had seen, so they may have named it themselves.
     */
    destination: Readonly<{
      key: string;
      address: string;
      from: DestinationFrom;
      isLinkSeen: boolean;
      mac: string;
    }> | null;
    /** Set when the payer is asked for an address by claim link. */
    claim: Readonly<{ token: string; untilS: number }> | null;
  }>;

type Asked = 'storeId' | 'mode' | 'refundId' | 'sessionId' | 'amountMinor' | 'currency';

export type NewRefund = Pick<Refund, Asked | 'reason' | 'description' | 'metadata'> &
  Readonly<{
    /** The destination as the merchant wrote it; parsed once the network of the refund is chosen. */
    refundAddress: string | null;
    requestedBy?: string;
    requestedKey?: string;
    /** Nothing is saved; the outcome is what it would be. */
    isDryRun?: boolean;
    replay: Replay;
    nowMs: number;
    /** The act of a person who asked for it. */
    act?: OperatorAct;
  }>;

/** Checks whether an address can be paid on a network; returns its key, or what is wrong with it. */
export type DestinationCheck = (network: NetworkKey, text: string) => DestinationVerdict;
export type DestinationVerdict =
  | Readonly<{ kind: 'ok'; family: string; key: string }>
  | Readonly<{ kind: 'bad'; why: DestinationFault }>;
export type DestinationFault = 'malformed' | 'unspendable' | 'token_contract' | 'own_address' | 'network_unknown';

export type CreateRefundOutcome =
  /** A replayed refund is answered as it was the first time. */
  | Readonly<{ kind: 'created' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'refused'; why: RefundRefusal }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /** The database was restored from a backup and may lack refunds that were paid. */
  | Readonly<{ kind: 'not_adopted' }>
  | Readonly<{
      kind:
        | 'duplicate_refund_id'
        | 'idempotency_key_conflict'
        | 'session_not_found'
        | 'session_access_denied'
        | 'store_suspended';
    }>;

export type FindRefundOutcome =
  | Readonly<{ kind: 'found'; refund: Refund }>
  /** `foreign`: another merchant has a refund of this id. */
  | Readonly<{ kind: 'not_found' | 'foreign' }>;

export type CancelRefundOutcome =
  | Readonly<{ kind: 'done' | 'replayed'; refund: Refund }>
  /** `in_doubt`: it may have been paid by what is not known here, such as what an earlier run has sent. */
  | Readonly<{ kind: 'not_cancelable' | 'in_doubt' | 'not_found' | 'foreign' | 'idempotency_key_conflict' }>;

/**
 * `fixed`: the merchant or the operator named an address, or the refund no longer takes one, or may have been paid at
 * its present one by what is not known here.
 */
export type SetDestinationOutcome = 'done' | 'fixed' | 'not_found' | Readonly<{ kind: 'bad'; why: DestinationFault }>;

export type RedirectRefundOutcome =
  /** `replayed`: it had this destination already. */
  | Readonly<{ kind: 'done' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /**
   * `fixed`: an attempt is allotted, or the refund has ended, or may have been paid at its present destination by what
   * is not known here.
   */
  | Readonly<{ kind: 'fixed' | 'not_found' | 'foreign' | 'idempotency_key_conflict' | 'store_suspended' }>;

/** A refund and who gives it another destination: its merchant with a request, or the operator. */
export type RedirectRefund = Readonly<{ address: string; act: OperatorAct }> &
  (
    | Readonly<{ by: 'merchant'; owner: Readonly<{ storeId: string; mode: Mode; refundId: string }>; replay: Replay }>
    | Readonly<{ by: 'operator'; id: string; isDryRun: boolean }>
  );

/**
 * `no_destination`: nobody has named an address, so there is nothing to approve. `changed`: it goes elsewhere than
 * seen.
 */
export type ApproveRefundOutcome = 'done' | 'not_found' | 'ended' | 'no_destination' | 'changed';

export type RefundFilter = Readonly<{
  storeId?: string;
  mode?: Mode;
  sessionId?: string;
  status?: RefundStatus;
  /** Only those that wait for an approval. */
  isUnapproved?: boolean;
  /** Created from this time on, and before that one; null: without a limit. */
  fromMs?: number | null;
  toMs?: number | null;
  before?: Pick<Refund, 'createdAtMs' | 'id'>;
  /** Only those that are newer than this one, the nearest of them first. */
  after?: Pick<Refund, 'createdAtMs' | 'id'>;
  /** Only those of sessions of this order. */
  order?: Readonly<{ storeId: string; mode: Mode; orderId: string }>;
  limit: number;
}>;

/** Amounts that may still be refunded, in minor units: of each coin, with the network that pays it; and in the day. */
export type RefundRoom = Readonly<{ coins: ReturnType<typeof refundable>; dayLeftMinor: bigint }>;

// ── Returns of held money ────────────────────────────────────────────────────────────────────────────────────────────
// Refunds with a kind of held money, and payouts that only the signer's journal knows.

/** One return of held money: `id` is also that of its refund and its payout. */
export type HeldReturn = Returned & Readonly<{ id: string; status: RefundStatus; tx: string | null }>;

/** `heldKind` of a return; `tx` once it is final. */
type LostRefund = EarlierRefund & Readonly<{ id: string; heldKind: HeldKind | null; tx: string | null }>;

/**
 * Returns a function that lists a session's refunds and returns that were signed and that this database lost when it
 * was restored from a backup, except one that is requested again.
 */
export function createLostRefunds(db: Db): (sessionId: string, exceptId: string) => Promise<LostRefund[]> {
  // In step with the index `payouts_of_lost_refunds`.
  const lost = atFirstUse(
    db.orm
      .select({ network: payouts.network, intent: payouts.intent, tx: payouts.tx })
      .from(payouts)
      .where(
        sql`${payouts.namedSession} = ${sql.placeholder('sessionId')} AND ${payouts.sessionId} IS NULL
        AND ${payouts.state} NOT IN ('failed', 'canceled')
        AND ${payouts.id} <> ${sql.placeholder('exceptId')}
        AND NOT EXISTS (SELECT 1 FROM ${refunds} WHERE ${refunds.id} = ${payouts.id}
          AND ${refunds.status} NOT IN ('failed', 'canceled'))`,
      ),
  );
  return async (sessionId, exceptId) =>
    (await lost.all({ sessionId, exceptId })).flatMap(({ network, intent, tx }) => {
      if (!isPayback(intent)) return [];
      const heldKind = intent.kind === 'return' ? intent.held : null;
      const amountMinor = parseUnits(intent.session.amount, MINOR_DECIMALS);
      if (amountMinor === null) return [];
      return [{ id: intent.id, network, currency: intent.currency, amountMinor, status: 'completed', heldKind, tx }];
    });
}

/** Returns functions that are called within a transaction. */
export function createReturned(db: Db) {
  const lostOf = createLostRefunds(db);
  const { id, status, network, currency, amountMinor, tx, heldKind, createdAtMs } = refunds;
  const ofSession = db.orm.select({ id, status, network, currency, amountMinor, tx, kind: heldKind }).from(refunds);
  const isReturn = and(given(refunds, 'sessionId'), isNotNull(heldKind));
  const returns = atFirstUse(ofSession.where(isReturn).orderBy(asc(createdAtMs), asc(id)));

  /** Returns every return of a session, also those that failed; first those that are known here, oldest first. */
  async function list(sessionId: string): Promise<HeldReturn[]> {
    const lost = (await lostOf(sessionId, '')).map(({ heldKind: kind, ...row }) => {
      return { ...row, kind, status: row.tx === null ? ('processing' as const) : row.status };
    });
    const all = [...(await returns.all({ sessionId })), ...lost];
    return all.flatMap(({ kind, ...row }) => (kind === null ? [] : [{ ...row, kind }]));
  }
  /** Returns the returns of a session whose money counts for nothing. */
  return { list, of: async (sessionId: string): Promise<HeldReturn[]> => (await list(sessionId)).filter(isHeld) };
}

export type ReturnedMoney = ReturnType<typeof createReturned>;
export type ReturnedOf = ReturnedMoney['of'];
