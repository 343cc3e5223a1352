/**
 * A refund: its types, its rows, its destination's MAC, and its view.
 */

import { createHash } from 'node:crypto';
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
  type RefundStatus,
  recentRefunds,
  type refundable,
} from '../../core/refund.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import { DAY_MS, dayOf } from '../../lib/clock.ts';
import type { OperatorAct } from '../audit-log.ts';
import { mapInOrder } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, findRow, findRows, haveValues, insertRow, perDatabase } from '../engine/rows.ts';
import type { Replay } from '../replays.ts';
import type { SealedDb } from '../sealing.ts';
import { sessionOf } from '../session.ts';
import { payouts, refunds, sessions } from '../tables.ts';

/**
 * A refund in its current state. `id` is ours; `refundId` is the merchant's. The `address` of its destination is the
 * key as people read it. `claim`: set when the payer is asked for an address by claim link.
 */
export type Refund = Readonly<Awaited<ReturnType<ReturnType<typeof viewingRefunds>['view']>>>;

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
  /** The merchant's own id. */
  refundId?: string;
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

/** `heldKind` of a return; `tx` once it is final. */
type LostRefund = EarlierRefund & Readonly<{ id: string; heldKind: HeldKind | null; tx: string | null }>;

/**
 * Returns a session's refunds and returns that were signed and that this database lost when it was restored from a
 * backup, except one that is requested again. To be called within a transaction.
 */
async function lostRefunds(db: Db, sessionId: string, exceptId: string): Promise<LostRefund[]> {
  // In step with the index `payouts_of_lost_refunds`.
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
 * Returns every return of a session, also those that failed; first those that are known here, oldest first. Its id is
 * also that of its refund and its payout. To be called within a transaction.
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

/** First values of a new refund's columns. */
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

/** Derives the id from the merchant's, so that a refund repeated after a restored backup gets the same payout. */
export function refundIdOf({ storeId, mode, refundId }: RefundOwner): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([storeId, mode, refundId]))
    .digest('hex');
  return `rf_${hash.slice(0, 32)}`;
}

/** Fields that a destination's MAC covers besides the destination. */
export type Bound = Pick<RefundRow, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor' | 'heldKind'>;

export const boundTo = ({ id, network, currency, units, sessionId, amountMinor, heldKind }: Bound, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session, held: heldKind ?? undefined };
};

/** Returns what a destination's MAC covers; null if the destination is not the one that was set. */
export function macedDestination(macOf: IntentMac, row: RefundRow): MacedRefund | null {
  const { destination, mac } = row;
  if (destination === null || mac === null) return null;
  const bound = boundTo(row, destination);
  return macOf(bound) === mac ? bound : null;
}

/** Returns whether the operator ordered a refund, a return of held money, rather than its store. */
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
    /** Returns the hash to store of a new claim token. */
    claimHashOf: (id: string): string => tokens.hashOf(tokens.of('refund claim', id)),
  };
});

function findingRefunds(db: SealedDb) {
  const find = (id: string): Promise<RefundRow | undefined> => findRow(db, refunds, { id });
  return {
    find,
    own: (owner: RefundOwner): Promise<RefundRow | undefined> => find(refundIdOf(owner)),
    /** Whether another store has a refund of this id. */
    async isForeign({ refundId, storeId }: RefundOwner): Promise<boolean> {
      const isOthers = and(eq(refunds.refundId, refundId), ne(refunds.storeId, storeId));
      return (await db.orm.select({ id: refunds.id }).from(refunds).where(isOthers).limit(1).get()) !== undefined;
    },
    claimed: (token: string): Promise<RefundRow | undefined> =>
      findRow(db, refunds, { claimHash: db.tokens.hashOf(token) }),
    /** Finds by our id, the merchant's, the receipt, or one of these spellings of the transaction, in this order. */
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

  /** Returns the refunds that a store ordered since a time and that count against its limits. */
  const ofStore = async (storeId: string, mode: Mode, sinceMs: number): Promise<RefundRow[]> =>
    (await findRows(db, refunds, since, { storeId, mode, sinceMs })).filter((row) => isHeld(row) && !isOperators(row));

  return {
    /**
     * Returns the refunds that count against a session, with those that only the signer's journal knows.
     * @param exceptId one of these that is requested again
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
    /** Returns what the store's other refunds of the last 24 hours gave that count together with this one. */
    recent: async (row: Parameters<typeof recentRefunds>[0] & Pick<RefundRow, 'storeId' | 'mode'>, nowMs: number) =>
      recentRefunds(row, await ofStore(row.storeId, row.mode, nowMs - RECENT_MS)) satisfies RecentRefunds,
    /** Returns what a store has refunded on the UTC day of `nowMs`, in minor units. */
    async todayMinor(storeId: string, mode: Mode, nowMs: number): Promise<bigint> {
      const fromMs = dayOf(nowMs) * DAY_MS;
      const ofDay = (await ofStore(storeId, mode, fromMs)).filter(({ createdAtMs }) => createdAtMs < fromMs + DAY_MS);
      return ofDay.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    },
  };
}

/** Waits for an approval. Without a destination there is nothing to approve yet. As the partial index has it. */
const whereUnapproved = and(
  sql`${refunds.needsApproval} = 1`,
  isNotNull(refunds.destination),
  isNull(refunds.approvedAtMs),
  sql`${refunds.status} IN ('pending', 'processing')`,
);

function listed(db: Db, filter: RefundFilter): Promise<RefundRow[]> {
  const { order, isUnapproved, fromMs = null, toMs = null, before, after, limit, ...values } = filter;
  const { id, createdAtMs } = refunds;
  // An order has as many sessions as it was tried.
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

  /** Returns null for a destination that was altered: the signer would not pay it. */
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
      // Another secret key may have made the link.
      const isOurs = claimHash !== null && claimHash === tokens.hashOf(token);
      return {
        ...shown,
        orderId,
        destination: destinationOf(row),
        claim: isOurs && claimUntilS !== null ? { token, untilS: claimUntilS } : null,
      };
    },
  };
}
