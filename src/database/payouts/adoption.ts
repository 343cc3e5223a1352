/** Brings a database that was restored from a backup up to date from the signer's journal. */
import { and, desc, eq, isNotNull, isNull, ne, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import type { Ledger } from '../ledger.ts';
import type { Adoption, MoneyOutDatabase } from '../money-out.ts';
import { lanes, payoutAttempts, payoutEngines } from '../tables.ts';
import { type FollowLost, noWait, type Payouts } from './payouts.ts';
import { type AttemptRow, LEARNED, type PayoutRow } from './rows.ts';

type Parts = Readonly<{
  steps: Payouts;
  ledger: Ledger;
  followLost: FollowLost;
}>;

export function adoptionCommands(db: Db, { steps, ledger, followLost }: Parts): Pick<MoneyOutDatabase, 'adopt'> {
  const { orm } = db;
  const newestSigned = atFirstUse(
    orm
      .select({ generation: payoutAttempts.generation, terms: payoutAttempts.terms })
      .from(payoutAttempts)
      .where(and(eq(payoutAttempts.payoutId, sql.placeholder('id')), isNotNull(payoutAttempts.tx)))
      .orderBy(desc(payoutAttempts.generation), desc(payoutAttempts.attempt))
      .limit(1),
  );

  const placed = { payoutId: payoutAttempts.payoutId, generation: payoutAttempts.generation, tx: payoutAttempts.tx };
  const holderOf = atFirstUse(
    orm
      .select(placed)
      .from(payoutAttempts)
      .where(eq(payoutAttempts.tx, sql.placeholder('tx'))),
  );
  /** What was learned from the chain, where the journal says that another transaction has this name. */
  const learnedInPlace = atFirstUse(
    orm
      .select(placed)
      .from(payoutAttempts)
      .where(
        and(
          eq(payoutAttempts.answerCode, LEARNED),
          ne(payoutAttempts.tx, sql.placeholder('tx')),
          eq(payoutAttempts.payoutId, sql.placeholder('id')),
          eq(payoutAttempts.generation, sql.placeholder('generation')),
          eq(payoutAttempts.attempt, sql.placeholder('attempt')),
        ),
      ),
  );

  /** Deletes attempts that nobody has signed, and that nobody can sign once the fence is raised. */
  function deleteUnsigned(network: NetworkKey): void {
    const rows = orm
      .delete(payoutAttempts)
      .where(and(eq(payoutAttempts.network, network), isNull(payoutAttempts.tx)))
      .returning()
      .all();
    for (const { payoutId, attempt, payer, nonce } of rows) {
      const payout = steps.find(payoutId);
      invariant(payout, `payout ${payoutId} of an attempt exists`);
      if (attempt > 0) continue;
      if (payout.state === 'sent') steps.change(payout, { state: 'waiting' }, payout.updatedAtMs);
      if (nonce === null) continue;
      orm
        .update(lanes)
        .set({ nextNonce: nonce })
        .where(and(eq(lanes.network, network), eq(lanes.payer, payer)))
        .run();
    }
  }

  /** Returns the payout of a signature: the existing one, reopened if it has ended, or a new one. */
  function payoutOf({ intent, signedAtMs }: Adoption, nowMs: number): PayoutRow {
    if (!steps.find(intent.id)) {
      steps.plan({ intent, sessionId: null, servesId: null, notBeforeMs: signedAtMs, nowMs });
    }
    const row = steps.find(intent.id);
    invariant(row, `payout ${intent.id} was planned`);
    return row;
  }

  /** What was learned from the chain has the attempt's name only until the journal says which attempt it was. */
  function makeRoom({ intent: { id }, generation, attempt, tx }: Adoption): void {
    const learned = learnedInPlace.get({ tx, id, generation, attempt });
    if (!learned) return;
    const last = steps.attempts({ id: learned.payoutId, generation: learned.generation }).at(-1);
    orm
      .update(payoutAttempts)
      .set({ attempt: (last?.attempt ?? 0) + 1 })
      .where(eq(payoutAttempts.tx, learned.tx ?? ''))
      .run();
  }

  /** @returns whether the signature was unknown here */
  function adoptOne(signature: Adoption, nowMs: number): boolean {
    const { intent, generation, attempt, payer, payerRole, terms, tx, bytes, signedAtMs } = signature;
    // What was settled by the chain, before the journal that names it was there again.
    const holder = holderOf.get({ tx });
    if (holder && holder.payoutId !== intent.id) return false;
    const payout = payoutOf(signature, nowMs);
    const nonce = terms.nonce === undefined ? null : Number(terms.nonce);
    makeRoom(signature);
    const isIt = (one: AttemptRow) => one.attempt === attempt && one.answerCode !== LEARNED;
    const known = steps.attempts({ id: payout.id, generation }).find(isIt);
    invariant(!known || known.tx === tx, `attempt ${attempt} of payout ${payout.id} was signed once`);
    if (known) return false;
    const signed = {
      ...{ payoutId: payout.id, generation, attempt, network: payout.network, payer, payerRole, nonce, terms, tx },
      // The terms hold the real limit in the family's format; a replacement is only compared with zero.
      ...{ feeUnitsMax: 0n, bytes: Buffer.from(bytes), allottedAtMs: signedAtMs, signedAtMs },
    };
    // A learned attempt keeps its cost, which is in the books.
    if (holder) orm.update(payoutAttempts).set(signed).where(eq(payoutAttempts.tx, tx)).run();
    else
      orm
        .insert(payoutAttempts)
        .values({ ...signed, sentAtMs: null, answerCode: null, answer: null, feeUnits: null })
        .run();
    if (nonce !== null) raiseLane(payout.network, payer, nonce + 1);
    return true;
  }

  /**
   * Continues a payout from its newest signature. Everything concluded without knowing it is asked again: a later
   * generation that began here, unsigned, must wait until all attempts of this one have ended.
   */
  function follow(id: string, nowMs: number): void {
    const payout = steps.find(id);
    const newest = newestSigned.get({ id });
    invariant(payout && newest, `payout ${id} of a signature exists`);
    const { generation, terms } = newest;
    if (payout.state === 'succeeded') return;
    // A refund that has ended here stays ended; what was signed for it is paid out of `unclaimed`.
    const hasEnded = payout.state === 'canceled' || payout.state === 'failed';
    if (hasEnded) {
      const message =
        `it is ${payout.state} here, but the signer has signed it, and it is carried out. Look at the refund with ` +
        `\`quayside show ${id}\` and tell the merchant.`;
      steps.report(payout, { code: 'payout_signed_after_end', message }, nowMs);
    }
    // A number was used by a reverted transaction; bytes without a number expired.
    const proof = generation === 0 ? null : terms.nonce === undefined ? 'dead' : 'failed';
    const moved = {
      sessionId: hasEnded ? null : payout.sessionId,
      state: 'sent',
      generation,
      proof,
      settledAtMs: null,
    } as const;
    const row = steps.change(payout, { ...moved, ...noWait }, nowMs);
    followLost(row, nowMs);
    ledger.transit(
      row.intent,
      steps.attempts(row).some(({ sentAtMs }) => sentAtMs !== null),
      nowMs,
    );
  }

  function raiseLane(network: NetworkKey, payer: string, nextNonce: number): void {
    const isLane = and(eq(lanes.network, network), eq(lanes.payer, payer));
    const row = orm.select().from(lanes).where(isLane).get();
    if (!row) orm.insert(lanes).values({ network, payer, nextNonce, countedNonce: null }).run();
    else if (row.nextNonce < nextNonce) {
      const counted = row.countedNonce ?? 0;
      const countedNonce = counted > nextNonce ? counted : null;
      orm.update(lanes).set({ nextNonce, countedNonce }).where(isLane).run();
    }
  }

  /** Lets the network's engine sign again. */
  function endAdoption(network: NetworkKey, journalId: number, servedFence: number, nowMs: number): void {
    const engine = orm.select().from(payoutEngines).where(eq(payoutEngines.network, network)).get();
    const fence = Math.max(engine?.fence ?? 0, servedFence);
    const row = { network, fence, journalId, reasonCode: null, reasonMessage: null, updatedAtMs: nowMs };
    orm.insert(payoutEngines).values(row).onConflictDoUpdate({ target: payoutEngines.network, set: row }).run();
  }

  return {
    async adopt(network, { signatures, isContinued, servedFence, nowMs }) {
      return db.write(() => {
        if (!isContinued) deleteUnsigned(network);
        const added = signatures.filter((signature) => adoptOne(signature, nowMs));
        for (const id of new Set(added.map(({ intent }) => intent.id))) follow(id, nowMs);
        if (servedFence !== null) {
          endAdoption(network, signatures.at(-1)?.id ?? 0, servedFence, nowMs);
        }
        return added.length;
      });
    },
  };
}
