/**
 * The ledger: entries are written in the transaction of the change that they record.
 */
import { and, eq, max, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Intent } from '../core/intent.ts';
import {
  adjustmentEntry,
  type BookedPayment,
  type Entry,
  type EntryKind,
  imbalances,
  paymentEntry,
  payoutEntry,
  type Unexplained,
} from '../core/ledger.ts';
import type { Phase } from '../core/session.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import type { SessionRow } from './session.ts';
import type { FindSessionRow } from './sessions.ts';
import { addresses, blocks, ledgerEntries, ledgerPostings, transfers } from './tables.ts';

/** To be called within a transaction. */
export type Ledger = Readonly<{
  /** Saves an entry; null saves nothing. The same entry twice breaks a constraint, and with it the transaction. */
  post(entry: Entry | null, atMs: number): void;
  /** Books that a sweep is in transit, or no longer is. */
  transit(intent: Intent, isUnderway: boolean, atMs: number): void;
  /** Books what left the wallets without a payout, with an operator's reason; `isBack`: a payout explains it by now. */
  adjust(network: NetworkKey, moved: readonly Unexplained[], reason: string, atMs: number, isBack?: boolean): void;
  /** Books a block's transfers that are to be confirmed, or reverses those that were; all of them without `txs`. */
  confirmed(blockId: number, isTaken: boolean, atMs: number, txs?: readonly string[]): void;
}>;

const storeOf = (session: SessionRow | null) => ({ storeId: session?.storeId ?? null, mode: session?.mode ?? null });

export function createLedger(db: Db, findSession: FindSessionRow): Ledger {
  const insertEntry = preparedInsert(db, ledgerEntries, ['id']);
  const insertPosting = preparedInsert(db, ledgerPostings);
  const lastOccurrence = atFirstUse(
    db.orm
      .select({ occurrence: max(ledgerEntries.occurrence) })
      .from(ledgerEntries)
      .where(and(eq(ledgerEntries.cause, sql.placeholder('cause')), eq(ledgerEntries.kind, sql.placeholder('kind')))),
  );
  const ofBlock = blockTransfers(db);

  /** Returns how often an entry of this kind was written for a cause. */
  const occurrenceOf = (cause: string, kind: EntryKind): number =>
    (lastOccurrence.get({ cause, kind })?.occurrence ?? -1) + 1;

  /** @param owner the session that a payment is credited to */
  function post(
    entry: Entry | null,
    atMs: number,
    owner: SessionRow | null = null,
    reason: string | null = null,
  ): void {
    if (!entry) return;
    const { kind, cause, occurrence: at, postings } = entry;
    invariant(imbalances(postings).length === 0, `entry ${kind} of ${cause} adds up to zero`);
    const entryId = Number(
      insertEntry({ kind, cause, occurrence: at, atMs, reason, ...storeOf(owner) }).lastInsertRowid,
    );
    for (const posting of postings) insertPosting({ entryId, ...posting });
  }

  /** Returns the session that a transfer's money belongs to; null for money that came before its session. */
  function ownerOf(sessionId: string | null, phase: Phase | null): SessionRow | null {
    const session = sessionId === null ? undefined : findSession(sessionId);
    return session && phase !== null ? session : null;
  }

  return {
    post: (entry, atMs) => post(entry, atMs),
    adjust(network, moved, reason, atMs, isBack) {
      const occurrence = occurrenceOf(network, 'adjustment');
      post(adjustmentEntry(network, moved, occurrence, isBack), atMs, null, reason);
    },
    transit(intent, isUnderway, atMs) {
      const sent = occurrenceOf(intent.id, 'sweep_sent');
      const returned = occurrenceOf(intent.id, 'sweep_returned');
      if (intent.kind !== 'sweep' || isUnderway === sent > returned) return;
      const milestone = isUnderway ? 'sent' : 'returned';
      post(payoutEntry(intent, null, milestone, isUnderway ? sent : returned), atMs);
    },
    confirmed(blockId, isTaken, atMs, txs) {
      const only = txs && new Set(txs);
      for (const row of ofBlock.all({ blockId, confirmed: !isTaken })) {
        const { tx, sessionId, phase, blockNumber: _, blockTimeS: __, ...transfer } = row;
        if (only?.has(tx) === false) continue;
        const session = ownerOf(sessionId, phase);
        const payment: BookedPayment = { ...transfer, sessionId: session?.id ?? null };
        const kind = isTaken ? 'payment' : 'payment_reversed';
        post(paymentEntry(payment, isTaken, occurrenceOf(String(transfer.transferId), kind)), atMs, session);
      }
    },
  };
}

/** Transfers of a block that are, or are not, confirmed. */
const blockTransfers = (db: Db) =>
  atFirstUse(
    db.orm
      .select({
        transferId: transfers.id,
        tx: transfers.tx,
        network: transfers.network,
        currency: transfers.currency,
        units: transfers.units,
        sessionId: addresses.sessionId,
        phase: transfers.phase,
        blockNumber: blocks.number,
        blockTimeS: blocks.timeS,
      })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(addresses, eq(addresses.id, transfers.addressId))
      .where(
        and(
          eq(transfers.blockId, sql.placeholder('blockId')),
          eq(transfers.dust, sql`0`),
          eq(transfers.confirmed, sql`${sql.param(sql.placeholder('confirmed'), transfers.confirmed)}`),
        ),
      ),
  );
