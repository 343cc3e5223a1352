/** The payout engine of a network: its fence, its heartbeat, and the adoption of the signer's journal. */

import { and, eq, isNull } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { Intent, Wallet } from '../../core/intent.ts';
import { paidAfterEnd, type Reason } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { filterInOrder, mapInOrder } from '../engine/bodies.ts';
import { MADE_AT_MS } from '../engine/migrate.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, findRow, findRows, insertRow } from '../engine/rows.ts';
import { ledgerOf } from '../ledger.ts';
import { readMeta } from '../meta.ts';
import { lockNetwork } from '../networks.ts';
import type { SealedDb } from '../sealing.ts';
import { payoutAttempts, payoutEngines } from '../tables.ts';
import { giveBackNonce, type JournaledSignature, raiseNonce } from './attempts.ts';
import { followLost } from './outcomes.ts';
import { noWait, payoutStepsOf, unsigned } from './payouts.ts';

/** The payout engine of a network. `settlingUntilMs` is null once it has settled in. */
export type PayoutEngine = typeof payoutEngines.$inferSelect;

/**
 * Longest gap between heartbeats without a settling-in. A restart takes less. A longer gap may be a restored snapshot.
 */
const GAP_MS_MAX = 120_000;
/** Longest time between reading the clock and the write. Another process may leave a heartbeat in between. */
const TURN_MS_MAX = 10_000;

const newEngine = { fence: 0, journalId: 0, reason: null, beatAtMs: null, settlingUntilMs: null };

/** Changes the row of an engine within a transaction, or adds it. */
async function saveEngine(db: Db, network: NetworkKey, set: Partial<PayoutEngine>): Promise<void> {
  if ((await changeRows(db, payoutEngines, { network }, set)) === 0)
    await insertRow(db, payoutEngines, { network, ...newEngine, ...set });
}

/** Commands with which a network's engine saves its own state. */
export function engineCommands(db: Db) {
  const { read, write } = db;
  const all = 'ORDER BY network';

  async function save(network: NetworkKey, set: Partial<PayoutEngine>): Promise<void> {
    await write(async () => {
      await lockNetwork(db, network);
      await saveEngine(db, network, set);
    });
  }

  /** Begins the settling-in of a network unless its engine has left a heartbeat in the last two minutes. */
  async function beginSettling(network: NetworkKey, nowMs: number): Promise<void> {
    await lockNetwork(db, network);
    const engine = await findRow(db, payoutEngines, { network });
    // A new database has lost nothing, so its engines begin as if they had a heartbeat.
    const lastMs = engine ? engine.beatAtMs : await readMeta(db, MADE_AT_MS);
    const agoMs = lastMs === null ? Number.POSITIVE_INFINITY : nowMs - Number(lastMs);
    // After a clock was set back by more, the time since the heartbeat is unknown.
    const isRecent = agoMs <= GAP_MS_MAX && agoMs >= -TURN_MS_MAX;
    if (!isRecent) await saveEngine(db, network, { settlingUntilMs: 0 });
    else if (!engine) await saveEngine(db, network, { beatAtMs: nowMs });
  }

  return {
    /**
     * Begins the settling-in of these networks where it is due. Call it before the server answers, so that no request
     * can cancel a payout or end one as never paid before.
     */
    async settleIn(networks: readonly NetworkKey[], nowMs: number): Promise<void> {
      await write(() => mapInOrder(networks, (network) => beginSettling(network, nowMs)));
    },
    /**
     * Returns the engine's next fence on a network; null when the signer has served a higher one. This database was
     * then restored from a backup, or another one is in use too. Nothing may be signed before `payouts.adopt`.
     * @param servedFence the highest fence that the signer has served
     */
    async nextFence(network: NetworkKey, servedFence: number): Promise<number | null> {
      return write(async () => {
        await lockNetwork(db, network);
        const known = (await findRow(db, payoutEngines, { network }))?.fence ?? 0;
        if (servedFence > known) return null;
        // The engine's report stays until its next one, which may be the same.
        await saveEngine(db, network, { fence: known + 1 });
        return known + 1;
      });
    },
    /** Saves why a network's engine does nothing; null if it works. */
    report: (network: NetworkKey, reason: Reason | null): Promise<void> => save(network, { reason }),
    /**
     * Saves the heartbeat of a network's engine. If the last one is older than two minutes, the network settles in from
     * now on. Meanwhile no payout is signed, canceled, rejected or ended as never paid.
     * @returns `PayoutEngine.settlingUntilMs`
     */
    async beat(network: NetworkKey, nowMs: number): Promise<number | null> {
      return write(async () => {
        await beginSettling(network, nowMs);
        await saveEngine(db, network, { beatAtMs: nowMs });
        return (await findRow(db, payoutEngines, { network }))?.settlingUntilMs ?? null;
      });
    },
    /** Saves the end of a network's settling-in, by the chain's time; null once it is over. */
    settle: (network: NetworkKey, settlingUntilMs: number | null): Promise<void> => save(network, { settlingUntilMs }),
    list: (): Promise<readonly PayoutEngine[]> => read(() => findRows(db, payoutEngines, all)),
  };
}

// ── Adoption ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A journaled signature with the wallet that pays its fee. */
export type Adoption = JournaledSignature & Readonly<{ payer: string; payerRole: Wallet['role'] }>;

/** The signer's journal of a network, or a part of it. */
export type JournalPart = Readonly<{
  signatures: readonly Adoption[];
  /** True for every part but the first. */
  isContinued?: true;
  /** The highest fence that the signer has served, with the last part; null if another one follows. */
  servedFence: number | null;
  nowMs: number;
}>;

/** Commands of the repository `payouts` that bring a database up to date after a restore. */
export function adoptionCommands(db: SealedDb) {
  const { orm } = db;
  const steps = payoutStepsOf(db);
  /** Deletes unsigned attempts. Once the fence is raised, they can no longer be signed. */
  async function deleteUnsigned(network: NetworkKey): Promise<void> {
    const isUnsigned = and(eq(payoutAttempts.network, network), isNull(payoutAttempts.tx));
    const rows = await orm.delete(payoutAttempts).where(isUnsigned).returning().all();
    for (const { payoutId, attempt, payer, nonce } of rows) {
      const payout = await steps.find(payoutId);
      invariant(payout, `payout ${payoutId} of an attempt exists`);
      if (attempt > 0) continue;
      if (payout.state === 'sent') await steps.change(payout, { state: 'waiting' }, payout.updatedAtMs);
      // It is not the newest nonce if an operator reconciled the wallet, and then it stays used.
      if (nonce !== null) await giveBackNonce(db, network, payer, nonce);
    }
  }

  /** Plans the payout of a signature, unless it exists. */
  async function plan(intent: Intent, notBeforeMs: number, nowMs: number): Promise<void> {
    if (await steps.find(intent.id)) return;
    await steps.plan({ intent, sessionId: null, servesId: null, notBeforeMs, nowMs });
  }

  /** @returns whether the signature was unknown here */
  async function adoptOne(signature: Adoption, nowMs: number): Promise<boolean> {
    const { intent, generation, attempt, payer, payerRole, terms, tx, bytes, signedAtMs } = signature;
    const { network } = intent;
    const nonce = terms.nonce === undefined ? null : Number(terms.nonce);
    if (nonce !== null) await raiseNonce(db, network, payer, nonce + 1);
    // The transaction may be known from the chain, even as the payment of another refund.
    if (await findRow(db, payoutAttempts, { tx })) return false;
    await plan(intent, signedAtMs, nowMs);
    await insertRow(db, payoutAttempts, {
      ...unsigned,
      payoutId: intent.id,
      generation,
      attempt,
      network,
      payer,
      payerRole,
      nonce,
      terms,
      // The terms have the real limit in the family's format. A replacement is only compared with zero.
      feeUnitsMax: 0n,
      tx,
      bytes: Buffer.from(bytes),
      signedAtMs,
    });
    return true;
  }

  /**
   * Continues a payout from its newest signature, and forgets conclusions that were made without it. An unsigned later
   * generation that began here must wait until all attempts of this one have ended.
   */
  async function follow(id: string, nowMs: number): Promise<void> {
    const payout = await steps.find(id);
    const newest = (await steps.everyAttempt(id)).findLast(({ tx }) => tx !== null);
    invariant(payout && newest, `payout ${id} of a signature exists`);
    const { generation, terms } = newest;
    if (payout.state === 'succeeded') return;
    // A refund that has ended here stays ended. A payment that was signed for it is booked to `unclaimed`.
    const hasEnded = payout.state === 'canceled' || payout.state === 'failed';
    if (hasEnded) await steps.report(payout, paidAfterEnd(payout), nowMs);
    // With a nonce, the previous generation was reverted. Without one, its bytes expired.
    const proof = generation === 0 ? null : terms.nonce === undefined ? 'dead' : 'failed';
    const moved = {
      sessionId: hasEnded ? null : payout.sessionId,
      state: 'sent',
      generation,
      proof,
      settledAtMs: null,
    } as const;
    const row = await steps.change(payout, { ...moved, ...noWait }, nowMs);
    await followLost(db, row, nowMs);
    await ledgerOf(db).transit(
      row.intent,
      (await steps.attempts(row)).some(({ sentAtMs }) => sentAtMs !== null),
      nowMs,
    );
  }

  /** Lets the network's engine sign again. */
  async function endAdoption(network: NetworkKey, journalId: number, servedFence: number): Promise<void> {
    const fence = Math.max((await findRow(db, payoutEngines, { network }))?.fence ?? 0, servedFence);
    await saveEngine(db, network, { fence, journalId, reason: null });
  }

  return {
    /**
     * Adds the attempts of a part of the signer's journal that this database lacks, in the journal's order. The first
     * part deletes attempts that were allotted and never signed. The last part raises the fence above the highest
     * served one, and only then may the engine sign again. After an interruption, start again with the first part.
     * @returns the number of added attempts
     */
    async adopt(network: NetworkKey, { signatures, isContinued, servedFence, nowMs }: JournalPart): Promise<number> {
      return db.write(async () => {
        await lockNetwork(db, network);
        if (!isContinued) await deleteUnsigned(network);
        const added = await filterInOrder(signatures, (signature) => adoptOne(signature, nowMs));
        for (const id of new Set(added.map(({ intent }) => intent.id))) await follow(id, nowMs);
        if (servedFence !== null) await endAdoption(network, signatures.at(-1)?.id ?? 0, servedFence);
        return added.length;
      });
    },
  };
}
