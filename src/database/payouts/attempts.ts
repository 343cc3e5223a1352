/** Attempts of payouts, and the nonces of wallets. Each attempt is allotted, signed, recorded and sent. */

import { invariant } from '../../core/fault.ts';
import { type Intent, isPayback } from '../../core/intent.ts';
import { ATTEMPTS_MAX, type Attempt } from '../../core/payout.ts';
import { freezeTexts, type Reason, reason } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { mapInOrder } from '../engine/bodies.ts';
import { isSameIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, deleteRows, findRow, findRows, insertRow } from '../engine/rows.ts';
import { ledgerOf } from '../ledger.ts';
import { lockNetwork, lockNetworkOf } from '../networks.ts';
import { refundRowsOf } from '../refunds/refund.ts';
import { closedGate } from '../refunds/refunds.ts';
import type { SealedDb } from '../sealing.ts';
import { lanes, payoutAttempts, payouts } from '../tables.ts';
import { freezeByProgram, freezesOf, NONCE_FOREIGN } from './holds.ts';
import {
  type AttemptRow,
  noWait,
  type PayoutName,
  type PayoutRow,
  payoutStepsOf,
  toAttempt,
  toPayout,
  unsigned,
} from './payouts.ts';

/** An open payout with the attempts of its current generation in order, and a refund's approval. */
export type OpenPayout = Readonly<Awaited<ReturnType<typeof openPayoutOf>>>;

export type AttemptName = PayoutName & Readonly<{ attempt: number }>;

/** The next nonce of a wallet, or the reason why there is none. */
export type NonceOffer =
  | Readonly<{ kind: 'free'; nonce: number }>
  /** The newest attempt is unsigned or in no block yet, or the network has just been frozen. */
  | Readonly<{ kind: 'busy' }>
  /** The wallet is new here, and the node has no final state from which to take its first nonce. */
  | Readonly<{ kind: 'unsettled' }>;

type NewAttempt = AttemptName &
  Pick<Attempt, 'payer' | 'payerRole' | 'nonce' | 'terms' | 'feeUnitsMax'> &
  Readonly<{ intent: Intent; nowMs: number }>;

/**
 * The outcome of an allotment. After `moved` the engine looks again, because the payout changed, its nonce is taken,
 * its refunded payment is gone, or money out is frozen.
 */
export type AllotOutcome = Readonly<{ kind: 'allotted'; attempt: Attempt }> | Readonly<{ kind: 'moved' }>;

/** A signature in the signer's journal. */
export type JournaledSignature = Readonly<{
  id: number;
  intent: Intent;
  generation: number;
  attempt: number;
  terms: Readonly<Record<string, string>>;
  tx: string;
  bytes: Uint8Array;
  signedAtMs: number;
}>;

const openPayoutOf = async (db: SealedDb, row: PayoutRow) => ({
  payout: toPayout(row),
  attempts: row.state === 'sent' ? (await payoutStepsOf(db).attempts(row)).map(toAttempt) : [],
  approval: isPayback(row.intent) ? ((await refundRowsOf(db).find(row.id))?.approval ?? null) : null,
});

export function openCommands(db: SealedDb) {
  return {
    /**
     * Returns payouts for an engine to look at: sent ones first, longest untouched first, then waiting ones that are
     * due. A payout that depends on another is listed only once that one has ended.
     * @param limit applies to refunds and to other payouts separately, so that sweeps that wait for finality displace
     * no refund
     */
    async open(network: NetworkKey, nowMs: number, limit: number): Promise<readonly OpenPayout[]> {
      return db.read(async () => {
        const paybacks = await findRows(db, payouts, openPaybacks, { network, nowMs, limit });
        const others = await findRows(db, payouts, openOthers, { network, nowMs, limit });
        return mapInOrder([...paybacks, ...others], (row) => openPayoutOf(db, row));
      });
    },
  };
}

// The first conditions are those of the index `payouts_open`, without which SQLite does not use it.
const openOf = (isWanted: string): string =>
  `WHERE network = :network AND state IN ('waiting', 'sent') AND ${isWanted}
   AND (state = 'sent' OR not_before_ms <= :nowMs AND NOT EXISTS (
     SELECT 1 FROM payouts AS giver WHERE giver.serves_id = payouts.id AND giver.state IN ('waiting', 'sent', 'stuck')))
   ORDER BY state, not_before_ms, id LIMIT :limit`;
const openPaybacks = openOf(`kind IN ('refund', 'return')`);
const openOthers = openOf(`kind NOT IN ('refund', 'return')`);

export function attemptCommands(db: SealedDb) {
  const steps = payoutStepsOf(db);
  const findAttempt = (name: AttemptName) => findRow(db, payoutAttempts, keyOf(name));

  const moveJournal = db.client.prepare(
    'UPDATE payout_engines SET journal_id = :journalId WHERE network = :network AND journal_id < :journalId',
  );

  /** Returns the payout of an attempt that can be allotted now; null if it changed since the engine looked. */
  async function findAllottable({ id, generation, attempt, intent, nowMs }: NewAttempt): Promise<PayoutRow | null> {
    const payout = await steps.find(id);
    const isOpen = payout?.state === 'waiting' || payout?.state === 'sent';
    if (!isOpen || payout.generation !== generation || payout.notBeforeMs > nowMs) return null;
    // The destination of a refund may have changed.
    if (!isSameIntent(payout.intent, intent)) return null;
    return (await steps.attempts(payout)).length === attempt && attempt < ATTEMPTS_MAX ? payout : null;
  }

  /** Uses up the nonce of a first attempt. @returns false when it is not the wallet's next one */
  async function useNonce(payout: PayoutRow, { id, attempt, payer, nonce }: NewAttempt): Promise<boolean> {
    if (nonce === null) return attempt === 0;
    if (await hasUnsigned(db, payout.network, payer)) return false;
    if (attempt === 0) return takeNonce(db, payout.network, payer, nonce);
    // Two attempts with different nonces could both be mined.
    const [first] = await steps.attempts(payout);
    invariant(first?.nonce === nonce, `a replacement of payout ${id} uses its nonce`);
    return true;
  }

  return {
    /**
     * Saves an attempt, with the only intent and terms for which it is signed, and uses up its nonce. A refund waits
     * instead while its payment is not final. If a reorg took the payment back, the refund waits with an alarm.
     */
    async allot(input: NewAttempt): Promise<AllotOutcome> {
      return db.write(async () => {
        await lockNetwork(db, input.intent.network);
        const payout = await findAllottable(input);
        if (!payout || (await isHeldAtGate(db, payout, input.attempt, input.nowMs)) || !(await useNonce(payout, input)))
          return { kind: 'moved' };
        const row = newAttempt(payout.network, input);
        await insertRow(db, payoutAttempts, row);
        await steps.change(payout, { state: 'sent', ...noWait }, input.nowMs);
        return { kind: 'allotted', attempt: toAttempt(row) };
      });
    },
    /** Deletes an attempt that the signer refused, releases its nonce, and saves why the payout waits. */
    async withdraw({
      wait,
      nextLookAtMs,
      nowMs,
      ...name
    }: AttemptName & Readonly<{ wait: Reason; nextLookAtMs: number; nowMs: number }>): Promise<boolean> {
      return db.write(async () => {
        await lockNetworkOf(db, name.id);
        const payout = await steps.find(name.id);
        const row = await findAttempt(name);
        if (!payout || !row) return false;
        invariant(row.tx === null, `attempt ${name.attempt} of payout ${name.id} was never signed`);
        await deleteRows(db, payoutAttempts, keyOf(name));
        if (row.attempt === 0 && row.nonce !== null) {
          const isLast = await giveBackNonce(db, row.network, row.payer, row.nonce);
          invariant(isLast, `nonce ${row.nonce} of ${row.payer} on ${row.network} was given out last`);
        }
        // If only a replacement was refused, the earlier attempt continues.
        const state = row.attempt === 0 ? 'waiting' : payout.state;
        await steps.waitFor(payout, wait, { state, notBeforeMs: Math.round(nextLookAtMs) }, nowMs);
        return true;
      });
    },
    /**
     * Saves the bytes and transaction id of each signature in the signer's journal with its attempt.
     * @param signatures entries after `PayoutEngine.journalId`, oldest first
     * @returns the first signature without an attempt here on its terms; null if all were recorded
     */
    async recordSigned(
      network: NetworkKey,
      signatures: readonly JournaledSignature[],
    ): Promise<JournaledSignature | null> {
      return db.write(async () => {
        await lockNetwork(db, network);
        for (const signature of signatures) {
          const { id: journalId, generation, attempt, tx, bytes, signedAtMs } = signature;
          const name = { id: signature.intent.id, generation, attempt };
          const row = await findAttempt(name);
          if (!(await isOurs(db, row, signature))) return signature;
          const signed = { tx, bytes: Buffer.from(bytes), signedAtMs };
          if (row?.tx === null) await changeRows(db, payoutAttempts, keyOf(name), signed);
          await moveJournal.run({ network, journalId });
        }
        return null;
      });
    },
    /**
     * Saves that an attempt was sent, and the node's answer. A new refusal becomes the reason to wait, with an alarm.
     */
    async recordSent({
      answerCode,
      answer,
      refusal,
      nowMs,
      ...name
    }: AttemptName &
      Readonly<{ answerCode: string; answer: string; refusal: Reason | null; nowMs: number }>): Promise<void> {
      await db.write(async () => {
        await lockNetworkOf(db, name.id);
        const payout = await steps.find(name.id);
        const row = await findAttempt(name);
        invariant(payout && row && row.tx !== null, `the sent attempt of payout ${name.id} was recorded`);
        const sent = { sentAtMs: row.sentAtMs ?? nowMs, answerCode, answer };
        await changeRows(db, payoutAttempts, keyOf(name), sent);
        await ledgerOf(db).transit(payout.intent, true, nowMs);
        await steps.waitFor(payout, refusal, {}, nowMs);
      });
    },
  };
}

const keyOf = ({ id: payoutId, generation, attempt }: AttemptName) => ({ payoutId, generation, attempt });

const newAttempt = (
  network: NetworkKey,
  { id: payoutId, generation, attempt, payer, payerRole, nonce, terms, feeUnitsMax }: NewAttempt,
): AttemptRow => ({
  payoutId,
  generation,
  attempt,
  network,
  payer,
  payerRole,
  nonce,
  terms,
  feeUnitsMax,
  ...unsigned,
});

/**
 * Asks the gates of money out in their order, once, in the transaction that allots an attempt. All must be open. Only a
 * freeze stops a replacement, because a replacement cannot be mined together with the attempt before it.
 * @returns whether a gate is closed. A refund then waits for it, unless it stops the whole network
 */
async function isHeldAtGate(db: SealedDb, row: PayoutRow, attempt: number, nowMs: number): Promise<boolean> {
  const steps = payoutStepsOf(db);
  if ((await freezesOf(db, row.network)).length > 0) return true;
  if (attempt > 0) return false;
  if (await steps.isSettling(row.network)) return true;
  const hold = (await steps.unexplainedHold(row)) ?? (await refundHold(db, row));
  if (hold) await steps.hold(row, hold, nowMs);
  return hold !== null;
}

async function refundHold(db: SealedDb, { id, intent }: PayoutRow): Promise<Reason | null> {
  const gate = isPayback(intent) ? await closedGate(db, id) : null;
  return gate && reason(gate);
}

/** Returns whether a journal entry has the intent and terms that were allotted here. */
async function isOurs(db: Db, row: AttemptRow | undefined, signature: JournaledSignature): Promise<boolean> {
  const payout = await payoutStepsOf(db).find(signature.intent.id);
  return (
    row !== undefined &&
    payout !== undefined &&
    isSameIntent(payout.intent, signature.intent) &&
    isSameTerms(row.terms, signature.terms) &&
    (row.tx === null || row.tx === signature.tx)
  );
}

/** Compares terms, which are flat. The order of their names does not matter. */
function isSameTerms(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

// ── Nonces of wallets ──────────────────────────────────────────────────────────────────────────────────────────────

// Call these within a transaction.

/** Returns whether the newest attempt of a wallet is not signed yet, so that the signer may still refuse it. */
async function hasUnsigned({ client }: Db, network: NetworkKey, payer: string): Promise<boolean> {
  const unsigned = client.prepare(
    'SELECT 1 FROM payout_attempts WHERE network = :network AND payer = :payer AND nonce IS NOT NULL AND tx IS NULL',
  );
  return (await unsigned.get({ network, payer })) !== undefined;
}

/** Returns the next nonce of a wallet, which is `first` for a new one. */
async function beginLane(db: Db, network: NetworkKey, payer: string, first: number): Promise<number> {
  const known = await findRow(db, lanes, { network, payer });
  if (!known) await insertRow(db, lanes, { network, payer, nextNonce: first });
  return known?.nextNonce ?? first;
}

/** @returns false when it is not the wallet's next one */
const takeNonce = async (db: Db, network: NetworkKey, payer: string, nonce: number): Promise<boolean> =>
  (await changeRows(db, lanes, { network, payer, nextNonce: nonce }, { nextNonce: nonce + 1 })) > 0;

/** @returns false when it is not the newest nonce */
export const giveBackNonce = async (db: Db, network: NetworkKey, payer: string, nonce: number): Promise<boolean> =>
  (await changeRows(db, lanes, { network, payer, nextNonce: nonce + 1 }, { nextNonce: nonce })) > 0;

/** Raises the next nonce of a wallet to this one, unless it is higher already. */
export async function raiseNonce(db: Db, network: NetworkKey, payer: string, nextNonce: number): Promise<void> {
  if ((await beginLane(db, network, payer, nextNonce)) < nextNonce)
    await changeRows(db, lanes, { network, payer }, { nextNonce });
}

export function nonceCommands(db: Db) {
  return {
    /**
     * Returns the nonce of the wallet's next attempt, once the one before is in a block. If a node counts more
     * transactions than are known here, money out is frozen with an alarm. Somebody else then spends from the wallet,
     * or this database is older than the chain.
     * @param seen the node's counts; `final` is null if it no longer has the final state
     */
    async offerNonce(
      network: NetworkKey,
      payer: string,
      { final, head, pending }: Readonly<{ final: number | null; head: number; pending: number }>,
      nowMs: number,
    ): Promise<NonceOffer> {
      return db.write(async () => {
        await lockNetwork(db, network);
        // A block at the head may vanish, and would leave a gap before the nonces that follow it.
        if (final === null && head > 0 && !(await findRow(db, lanes, { network, payer }))) return { kind: 'unsettled' };
        const nonce = await beginLane(db, network, payer, final ?? 0);
        const counted = Math.max(final ?? 0, head, pending);
        if (counted > nonce) {
          const reason = freezeTexts[NONCE_FOREIGN]({ network, payer, ours: nonce, counted });
          await freezeByProgram(db, { network, code: NONCE_FOREIGN, reason, nowMs });
          return { kind: 'busy' };
        }
        const isMined = head === nonce && !(await hasUnsigned(db, network, payer));
        return isMined ? { kind: 'free', nonce } : { kind: 'busy' };
      });
    },
    /** Returns the wallets whose transactions have nonces, each with its next nonce. */
    async nonces(network: NetworkKey): Promise<readonly (typeof lanes.$inferSelect)[]> {
      return db.read(() => findRows(db, lanes, 'WHERE network = :network ORDER BY payer', { network }));
    },
    /**
     * Raises the next nonce of a wallet to this one, unless it is higher already. An operator explains the nonces
     * before it.
     */
    async passNonces(network: NetworkKey, payer: string, nextNonce: number): Promise<void> {
      await db.write(async () => {
        await lockNetwork(db, network);
        await raiseNonce(db, network, payer, nextNonce);
      });
    },
  };
}
