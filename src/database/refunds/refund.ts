/**
 * A refund: its types, its rows, its destination's MAC, and its view.
 */

import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm';
import type { HeldKind } from '../../core/held-money.ts';
import { type IntentMac, isPayback, type MacedRefund } from '../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../../core/money.ts';
import {
  type EarlierRefund,
  isHeld,
  RECENT_MS,
  type RecentRefunds,
  type RefundRefusal,
  recentRefunds,
  type refundable,
} from '../../core/refund.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import { DAY_MS, dayOf } from '../../lib/clock.ts';
import { hashOf } from '../../lib/id.ts';
import type { OperatorAct } from '../audit-log.ts';
import { mapInOrder } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, findRow, findRows, haveValues, insertRow, perDatabase } from '../engine/rows.ts';
import type { Replay } from '../replays.ts';
import type { SealedDb } from '../sealing.ts';
import { sessionOf } from '../session.ts';
import { payouts, refunds, sessions } from '../tables.ts';

/**
 * A refund in its current state. `id` is ours, and `refundId` is the merchant's. The `address` of its destination is in
 * readable form. `claim` is set while a claim link asks the payer for an address.
 */
export type Refund = Readonly<Awaited<ReturnType<ReturnType<typeof viewingRefunds>['view']>>>;

type Asked = 'storeId' | 'mode' | 'refundId' | 'sessionId' | 'amountMinor' | 'currency';

export type NewRefund = Pick<Refund, Asked | 'reason' | 'description' | 'metadata'> &
  Readonly<{
    /** The destination in the merchant's spelling. It is parsed once the network of the refund is chosen. */
    refundAddress: string | null;
    requestedBy?: string;
    requestedKey?: string;
    /** Whether to return the outcome without saving anything. */
    isDryRun?: boolean;
    replay: Replay;
    nowMs: number;
    /** The act of the person who requested it. */
    act?: OperatorAct;
  }>;

/** Checks whether an address can be paid on a network. Returns its key, or the fault in it. */
export type DestinationCheck = (network: NetworkKey, text: string) => DestinationVerdict;
export type DestinationVerdict =
  | Readonly<{ kind: 'ok'; family: string; key: string }>
  | Readonly<{ kind: 'bad'; why: DestinationFault }>;
export type DestinationFault = 'malformed' | 'unspendable' | 'token_contract' | 'own_address' | 'network_unknown';

export type CreateRefundOutcome =
  /** `replayed`: an earlier request created the same refund. */
  | Readonly<{ kind: 'created' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'refused'; why: RefundRefusal }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
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
  /** `foreign`: another merchant's refund has this id. */
  | Readonly<{ kind: 'not_found' | 'foreign' }>;

export type CancelRefundOutcome =
  | Readonly<{ kind: 'done' | 'replayed'; refund: Refund }>
  /** `in_doubt`: an unknown transaction may have paid it, such as one sent before a restore. */
  | Readonly<{ kind: 'not_cancelable' | 'in_doubt' | 'not_found' | 'foreign' | 'idempotency_key_conflict' }>;

/**
 * `fixed`: the merchant or the operator named an address, or the refund no longer takes one, or an unknown transaction
 * may have paid it at its present one.
 */
export type SetDestinationOutcome = 'done' | 'fixed' | 'not_found' | Readonly<{ kind: 'bad'; why: DestinationFault }>;

export type RedirectRefundOutcome =
  /** `replayed`: it had this destination before. */
  | Readonly<{ kind: 'done' | 'replayed'; refund: Refund }>
  | Readonly<{ kind: 'bad_destination'; why: DestinationFault }>
  /**
   * `fixed`: an attempt is allotted, or the refund has ended, or an unknown transaction may have paid it at its present
   * destination.
   */
  | Readonly<{ kind: 'fixed' | 'not_found' | 'foreign' | 'idempotency_key_conflict' | 'store_suspended' }>;

/** An order to give a refund another destination, by its merchant with a request, or by the operator. */
export type RedirectRefund = Readonly<{ address: string; act: OperatorAct }> &
  (
    | Readonly<{ by: 'merchant'; owner: RefundOwner; replay: Replay }>
    | Readonly<{ by: 'operator'; id: string; isDryRun: boolean }>
  );

/**
 * `no_destination`: the refund has no address to approve yet. `changed`: its destination is not the one that was seen.
 */
export type ApproveRefundOutcome = 'done' | 'not_found' | 'ended' | 'no_destination' | 'changed';

export type RefundFilter = Partial<Pick<RefundRow, 'storeId' | 'mode' | 'sessionId' | 'refundId' | 'status'>> &
  Readonly<{
    /** Whether to list only refunds that wait for an approval. */
    isUnapproved?: boolean;
    /** First creation time; null without a limit. */
    fromMs?: number | null;
    toMs?: number | null;
    before?: Pick<Refund, 'createdAtMs' | 'id'>;
    /** Limits the list to refunds newer than this one, oldest first. */
    after?: Pick<Refund, 'createdAtMs' | 'id'>;
    /** Limits the list to refunds of this order's sessions. */
    order?: Readonly<{ storeId: string; mode: Mode; orderId: string }>;
    limit: number;
  }>;

/**
 * Amounts that can still be refunded, in minor units. `coins` has each coin's with the paying network, and
 * `dayLeftMinor` the store's for the day.
 */
export type RefundRoom = Readonly<{ coins: ReturnType<typeof refundable>; dayLeftMinor: bigint }>;

// ── Returns of held money ────────────────────────────────────────────────────────────────────────────────────────────
// A return is a refund with a kind of held money, or a payout of one that only the signer's journal knows.

/** A lost refund or return. `heldKind` is set for a return, and `tx` once it is final. */
type LostRefund = EarlierRefund & Readonly<{ id: string; heldKind: HeldKind | null; tx: string | null }>;

/**
 * Returns a session's refunds and returns that were signed, and that a restored database lacks. Leaves out the one that
 * is requested again. Call it within a transaction.
 */
async function lostRefunds(db: Db, sessionId: string, exceptId: string): Promise<LostRefund[]> {
  // The first two conditions are those of the index `payouts_of_lost_refunds`.
  const lost = `WHERE named_session = :sessionId AND session_id IS NULL AND state NOT IN ('failed', 'canceled')
    AND id <> :exceptId
    AND NOT EXISTS (SELECT 1 FROM refunds WHERE refunds.id = payouts.id AND refunds.status NOT IN ('failed', 'canceled'))`;
  return (await findRows(db, payouts, lost, { sessionId, exceptId })).flatMap(({ network, intent, tx }) => {
    if (!isPayback(intent)) return [];
    const heldKind = intent.kind === 'return' ? intent.held : null;
    const amountMinor = parseUnits(intent.session.amount, MINOR_DECIMALS);
    if (amountMinor === null) return [];
    return [{ id: intent.id, network, currency: intent.currency, amountMinor, status: 'completed', heldKind, tx }];
  });
}

/**
 * Returns every return of a session, even failed ones. Known ones come first, oldest first. A return shares its id with
 * its refund and its payout. Call it within a transaction.
 */
export async function returnsOf(db: Db, sessionId: string) {
  const returns = 'WHERE session_id = :sessionId AND held_kind IS NOT NULL ORDER BY created_at_ms, id';
  const known = await findRows(db, refunds, returns, { sessionId });
  const lost = await lostRefunds(db, sessionId, '');
  const all = [...known, ...lost.map((row) => (row.tx === null ? { ...row, status: 'processing' as const } : row))];
  return all.flatMap(({ id, status, network, currency, amountMinor, tx, heldKind: kind }) =>
    kind === null ? [] : [{ id, status, network, currency, amountMinor, tx, kind }],
  );
}

// ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

export type RefundRow = typeof refunds.$inferSelect;
export type RefundOwner = Pick<NewRefund, 'storeId' | 'mode' | 'refundId'>;

/** Initial values of a refund's columns. */
export const newRefund = {
  reason: null,
  description: null,
  metadata: null,
  requestedBy: null,
  requestedKey: null,
  heldKind: null,
  destination: null,
  destinationFrom: null,
  mac: null,
  claimHash: null,
  claimUntilS: null,
  status: 'pending',
  needsApproval: false,
  approvedAtMs: null,
  approvedDestination: null,
  approval: null,
  failureReason: null,
  tx: null,
  receiptNumber: null,
  processingAtMs: null,
  processedAtMs: null,
  canceledAtMs: null,
} as const satisfies Partial<RefundRow>;

/** Derives a refund's id from the merchant's, so that a refund repeated after a restore gets the same payout. */
export function refundIdOf({ storeId, mode, refundId }: RefundOwner): string {
  return `rf_${hashOf(JSON.stringify([storeId, mode, refundId])).slice(0, 32)}`;
}

/** The fields that a destination's MAC covers besides the destination. */
export type Bound = Pick<RefundRow, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor' | 'heldKind'>;

export const boundTo = ({ id, network, currency, units, sessionId, amountMinor, heldKind }: Bound, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session, held: heldKind ?? undefined };
};

/** Returns the fields that a destination's MAC covers; null if the MAC fails. */
export function macedDestination(macOf: IntentMac, row: RefundRow): MacedRefund | null {
  const { destination, mac } = row;
  if (destination === null || mac === null) return null;
  const bound = boundTo(row, destination);
  return macOf(bound) === mac ? bound : null;
}

/** Returns whether a refund is a return of held money that the operator ordered, and not the store. */
export const isOperators = ({ heldKind, requestedBy }: Pick<RefundRow, 'heldKind' | 'requestedBy'>): boolean =>
  heldKind !== null && requestedBy === null;

export const refundRowsOf = perDatabase((db: SealedDb) => {
  const { tokens } = db;
  return {
    ...findingRefunds(db),
    ...listingRefunds(db),
    ...viewingRefunds(db),
    insert: (row: RefundRow): Promise<void> => insertRow(db, refunds, row),
    /** @returns the row with its changes */
    async change(row: RefundRow, values: Partial<RefundRow>): Promise<RefundRow> {
      await changeRows(db, refunds, { id: row.id }, values);
      return { ...row, ...values };
    },
    /** Returns the hash of a new claim token, which is stored. */
    claimHashOf: (id: string): string => hashOf(tokens.of('refund claim', id)),
  };
});

function findingRefunds(db: SealedDb) {
  const find = (id: string): Promise<RefundRow | undefined> => findRow(db, refunds, { id });
  return {
    find,
    own: (owner: RefundOwner): Promise<RefundRow | undefined> => find(refundIdOf(owner)),
    /** Returns whether another store has a refund of this id. */
    async isForeign({ refundId, storeId }: RefundOwner): Promise<boolean> {
      const isOthers = and(eq(refunds.refundId, refundId), ne(refunds.storeId, storeId));
      return (await db.orm.select({ id: refunds.id }).from(refunds).where(isOthers).limit(1).get()) !== undefined;
    },
    claimed: (token: string): Promise<RefundRow | undefined> => findRow(db, refunds, { claimHash: hashOf(token) }),
    /** Finds a refund by our id, the merchant's, the receipt, or a spelling of the transaction, in this order. */
    async named(
      at: Omit<RefundOwner, 'refundId'>,
      text: string,
      transactions: readonly string[],
    ): Promise<RefundRow | undefined> {
      const { storeId, mode } = at;
      const isOwn = (row: RefundRow | undefined) => row?.storeId === storeId && row.mode === mode;
      const known = [await find(text), await find(refundIdOf({ ...at, refundId: text }))].find(isOwn);
      if (known) return known;
      const one = (named: Partial<RefundRow>) => findRow(db, refunds, { storeId, mode, ...named });
      const byReceipt = await one({ receiptNumber: text });
      return byReceipt ?? (await mapInOrder(transactions, (tx) => one({ tx }))).find((row) => row);
    },
  };
}

function listingRefunds(db: Db) {
  const ready = `WHERE status = 'pending' AND destination IS NOT NULL
    AND (needs_approval = 0 OR approved_destination = destination)
     ORDER BY created_at_ms LIMIT :limit`;
  const unclaimed = `WHERE status = 'pending' AND destination IS NULL AND claim_until_s < :nowS
    ORDER BY claim_until_s LIMIT :limit`;
  const since = 'WHERE store_id = :storeId AND mode = :mode AND created_at_ms >= :sinceMs';

  /** Returns a store's refunds since a time that count against its limits. */
  const ofStore = async (storeId: string, mode: Mode, sinceMs: number): Promise<RefundRow[]> =>
    (await findRows(db, refunds, since, { storeId, mode, sinceMs })).filter((row) => isHeld(row) && !isOperators(row));

  return {
    /**
     * Returns the refunds that count against a session, including those that only the signer's journal knows.
     * @param exceptId a lost one that is requested again
     */
    ofSession: async (sessionId: string, exceptId = ''): Promise<EarlierRefund[]> => [
      ...(await findRows(db, refunds, { sessionId })),
      ...(await lostRefunds(db, sessionId, exceptId)),
    ],
    /** Returns refunds that can start or whose claim link has expired, longest waiting first. */
    due: async (nowS: number, limit: number): Promise<RefundRow[]> =>
      [
        ...(await findRows(db, refunds, ready, { limit })),
        ...(await findRows(db, refunds, unclaimed, { limit, nowS })),
      ].slice(0, limit),
    list: (filter: RefundFilter): Promise<RefundRow[]> => listed(db, filter),
    /** Returns the amounts of the store's refunds in the last 24 hours that count together with this one. */
    recent: async (row: Parameters<typeof recentRefunds>[0] & Pick<RefundRow, 'storeId' | 'mode'>, nowMs: number) =>
      recentRefunds(row, await ofStore(row.storeId, row.mode, nowMs - RECENT_MS)) satisfies RecentRefunds,
    /** Returns a store's refunds on the UTC day of `nowMs`, in minor units. */
    async todayMinor(storeId: string, mode: Mode, nowMs: number): Promise<bigint> {
      const fromMs = dayOf(nowMs) * DAY_MS;
      const ofDay = (await ofStore(storeId, mode, fromMs)).filter(({ createdAtMs }) => createdAtMs < fromMs + DAY_MS);
      return ofDay.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    },
  };
}

/**
 * Condition of refunds that wait for an approval, for which they need a destination. It contains the condition of the
 * index `refunds_to_approve`.
 */
const whereUnapproved = and(
  sql`${refunds.needsApproval} = 1`,
  isNotNull(refunds.destination),
  isNull(refunds.approvedAtMs),
  sql`${refunds.status} IN ('pending', 'processing')`,
);

function listed(db: Db, filter: RefundFilter): Promise<RefundRow[]> {
  const { order, isUnapproved, fromMs = null, toMs = null, before, after, limit, ...values } = filter;
  const { id, createdAtMs } = refunds;
  // An order has one session for each try.
  const ofOrder = db.orm.select({ id: sessions.id }).from(sessions);
  const where = and(
    haveValues(refunds, values),
    isUnapproved ? whereUnapproved : undefined,
    fromMs === null ? undefined : gte(createdAtMs, fromMs),
    toMs === null ? undefined : lt(createdAtMs, toMs),
    before && sql`(${createdAtMs}, ${id}) < (${before.createdAtMs}, ${before.id})`,
    after && sql`(${createdAtMs}, ${id}) > (${after.createdAtMs}, ${after.id})`,
    order && inArray(refunds.sessionId, ofOrder.where(haveValues(sessions, order))),
  );
  const direction = after === undefined ? [desc(createdAtMs), desc(id)] : [asc(createdAtMs), asc(id)];
  const found = db.orm.select().from(refunds).where(where);
  return found
    .orderBy(...direction)
    .limit(limit)
    .all();
}

function viewingRefunds(db: SealedDb) {
  const { macOf, tokens, guard, formatAddress } = db;

  /** Returns null for an altered destination, which the signer would not pay. */
  function destinationOf(row: RefundRow) {
    const { id, network, destination: key, destinationFrom: from, mac } = row;
    if (key === null || from === null || mac === null) return null;
    if (macedDestination(macOf, row)) return { key, address: formatAddress(network, key), from, mac };
    const remedy = `ask the payer, and name the right one by \`quayside refund destination ${id}\``;
    guard.refuse('refunds', `refund ${id}`, remedy);
    return null;
  }
  return {
    destinationOf,
    async view(row: RefundRow) {
      const { claimHash, claimUntilS, destination: _key, destinationFrom: _from, ...own } = row;
      const { mac: _mac, bodyHash: _body, ...shown } = own;
      const { orderId } = await sessionOf(db, row.sessionId);
      const token = tokens.of('refund claim', row.id);
      // The link may have been made with an earlier secret key.
      const isOurs = claimHash !== null && claimHash === hashOf(token);
      return {
        ...shown,
        orderId,
        destination: destinationOf(row),
        claim: isOurs && claimUntilS !== null ? { token, untilS: claimUntilS } : null,
      };
    },
  };
}
