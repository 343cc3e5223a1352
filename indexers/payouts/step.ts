/**
 * Carries one payout as far as it goes now: asks `core/payout` for the next step, does it, and asks again.
 * @module
 */
import type PQueue from 'p-queue';
import type { PayoutNode, Quote, SentAttempt, SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import { Fault, invariant, permanent } from '../../src/core/fault.ts';
import {
  type Attempt,
  decide,
  isOutbid,
  isSigned,
  judgeQuote,
  judgeRefusal,
  nextLookAtMs,
  type Payout,
  type PayoutRules,
  type Recent,
  type SignedAttempt,
  type Step,
} from '../../src/core/payout.ts';
import type { Database } from '../../src/database/database.ts';
import type { OpenPayout } from '../../src/database/money-out.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Signer } from '../../src/signer/signer.ts';
import { journalBehind, type PayoutLease } from './lease.ts';
import type { PayoutWallets } from './wallets.ts';

/** More steps than any payout needs before it must wait for somebody. */
const STEPS_MAX = 20;
/** A wallet whose newest attempt is just being signed has its next number soon. */
const LANE_WAIT_MS = 1000;

export type AdvanceParts = Readonly<{
  node: PayoutNode;
  signer: Signer;
  database: Database;
  wallets: PayoutWallets;
  lease: PayoutLease;
  rules: SpendRules;
  pace: PayoutRules;
  /** Allots and signs. One at a time where numbers must not have gaps. */
  allotting: PQueue;
  clock: Clock;
  /** Hears each quote of a first attempt: what a payout takes now, or why it cannot be made. */
  onQuote(draft: SpendDraft, quote: Quote): void;
}>;

/** What one run of the engine keeps of a payout between its looks. */
export type Memory = Recent;

/** When to look at the payout again, and what to remember until then. */
export type Progress = Readonly<{ nextAtMs: number; memory: Memory }>;

export type AdvancePayout = (open: OpenPayout, memory: Memory) => Promise<Progress>;

export function createAdvancePayout(parts: AdvanceParts): AdvancePayout {
  const { node, signer, database, wallets, lease, rules, pace, allotting, clock, onQuote } = parts;

  return async (open, before) => {
    const { payout, approval } = open;
    const { id, generation } = payout;
    const name = { id, generation };
    let attempts: readonly Attempt[] = open.attempts;
    let memory = before;
    let outcome: Awaited<ReturnType<PayoutNode['outcome']>> | null = null;
    const draft = await wallets.draft(payout.intent);
    const restUntil = (nextAtMs: number): Progress => ({ nextAtMs, memory });
    const lookAgain = (): Progress => restUntil(clock.nowMs());
    const later = (): number => nextLookAtMs(payout, clock.nowMs());

    /** A first attempt: a number, what it takes now, and the signature, before another payout gets the wallet's next number. */
    async function begin(): Promise<Progress | null> {
      const nonce = await nextNonce(payout, draft.payer);
      if (nonce === 'halted') return haltedWallet();
      if (nonce === 'soon') return restUntil(clock.nowMs() + LANE_WAIT_MS);
      const quote = await node.quote(draft, nonce, []);
      onQuote(draft, quote);
      const judged = judgeQuote(quote);
      const nowMs = clock.nowMs();
      if (judged.kind === 'wait') {
        await database.recordWait({ ...name, wait: judged, nextLookAtMs: later(), nowMs });
        return restUntil(later());
      }
      if (judged.kind === 'fail') {
        await database.settlePayout({ ...name, outcome: { ...judged, kind: 'failed' }, nowMs });
        return lookAgain();
      }
      return allot(0, nonce, judged.terms, judged.feeUnitsMax);
    }

    async function haltedWallet(): Promise<Progress> {
      const message = `wallet ${draft.payer} is halted; \`quayside status\` says why`;
      const wait = { code: 'wallet_halted', message };
      await database.recordWait({ ...name, wait, nextLookAtMs: later(), nowMs: clock.nowMs() });
      return restUntil(later());
    }

    /** The wallet's next number, null where there are none, or that it has none to give now. */
    async function nextNonce({ network }: Payout, payer: string): Promise<number | null | 'soon' | 'halted'> {
      if (rules.lane === 'expiry') return null;
      const sequence = await node.sequence(payer);
      invariant(sequence, `the node of ${network} counts transactions`);
      const offer = await database.offerNonce(network, payer, sequence.final, clock.nowMs());
      if (offer.kind === 'free') return offer.nonce;
      return offer.kind === 'halted' ? 'halted' : 'soon';
    }

    async function allot(
      attempt: number,
      nonce: number | null,
      terms: Attempt['terms'],
      feeUnitsMax: bigint,
    ): Promise<Progress | null> {
      const payerRole = rules.payer(payout.intent).role;
      const wish = { ...name, attempt, payer: draft.payer, payerRole, nonce, terms, feeUnitsMax, nowMs: clock.nowMs() };
      const outcome = await database.allotAttempt(wish);
      if (outcome.kind === 'moved') return lookAgain();
      attempts = [...attempts, outcome.attempt];
      return sign(outcome.attempt);
    }

    /** @returns null when the attempt is signed and recorded */
    async function sign({ attempt, terms }: Attempt): Promise<Progress | null> {
      const { intent, proof } = payout;
      try {
        const request = { fence: lease.fence, intent, generation, attempt, proof, terms, approval };
        await signer.sign(request);
      } catch (error) {
        // Without an answer it may be signed all the same: the same is asked again.
        if (!(error instanceof Fault) || error.kind === 'transient') throw error;
        return refused(attempt, error);
      }
      await reload();
      if (attempts.some((one) => one.attempt === attempt && isSigned(one))) return null;
      throw journalBehind(`it has signed payout ${id} without an entry`);
    }

    async function reload(): Promise<void> {
      await lease.follow();
      const all = await database.listPayoutAttempts(id);
      attempts = all.filter((one) => one.generation === generation);
    }

    async function refused(attempt: number, { code, message }: Fault): Promise<Progress | null> {
      const judged = judgeRefusal(code);
      if (judged === 'stop') throw permanent(code, message);
      await reload();
      // It was signed before, whatever was answered now.
      if (attempts.some((one) => one.attempt === attempt && isSigned(one))) return null;
      const wait = { code, message };
      const nowMs = clock.nowMs();
      await database.withdrawAttempt({ ...name, attempt, wait, nextLookAtMs: later(), nowMs });
      if (judged === 'stick') await database.stickPayout({ ...name, why: wait, ended: null, haltsPayer: null, nowMs });
      return restUntil(attempt === 0 ? later() : nowMs + pace.resendMs);
    }

    async function send(attempt: SignedAttempt): Promise<void> {
      const { answer, refusal } = await broadcast(attempt);
      const nowMs = clock.nowMs();
      memory = { ...memory, sentAtMs: nowMs };
      if (attempt.sentAtMs !== null && attempt.answer === answer) return;
      await database.recordSent({ ...name, attempt: attempt.attempt, answer, refusal, nowMs });
      const sent = { ...attempt, sentAtMs: attempt.sentAtMs ?? nowMs, answer };
      attempts = attempts.map((one) => (one.attempt === attempt.attempt ? sent : one));
    }

    /** Whatever comes back proves nothing: a node that fails may have passed it on. */
    async function broadcast({ bytes }: SignedAttempt) {
      try {
        const answer = await node.broadcast(bytes);
        if (answer.kind !== 'rejected') return { answer: answer.kind, refusal: null };
        const { code, message } = answer;
        const told = `a node refuses it (${code}: ${message}). It is sent again until it is on the chain or can never be.`;
        return { answer: `rejected ${code}: ${message}`, refusal: { code: 'payout_rejected', message: told } };
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return { answer: `no answer: ${error.code}`, refusal: null };
      }
    }

    /** A replacement with the same number, if the price has risen above what was offered. */
    async function outbid(newest: SignedAttempt): Promise<Progress | null> {
      memory = { ...memory, outbidAtMs: clock.nowMs() };
      if (!isOutbid(newest, await node.quote(draft, newest.nonce, []))) return lookAgain();
      const terms = attempts.map((attempt) => attempt.terms);
      const quote = await node.quote(draft, newest.nonce, terms);
      if (quote.kind === 'refused') return lookAgain();
      return allot(newest.attempt + 1, newest.nonce, quote.terms, quote.feeUnitsMax);
    }

    /** @returns null to decide again at once */
    async function act(step: Step): Promise<Progress | null> {
      const nowMs = clock.nowMs();
      switch (step.kind) {
        case 'rest':
          return restUntil(step.untilMs ?? Number.POSITIVE_INFINITY);
        case 'quote':
          return allotting.add(begin);
        case 'sign':
          return allotting.add(() => sign(step.attempt));
        case 'send':
          await send(step.attempt);
          return null;
        case 'ask':
          outcome = await node.outcome(draft, attempts.filter(isSigned).map(toSent));
          return null;
        case 'outbid':
          return allotting.add(() => outbid(step.newest));
        case 'succeed':
          await database.settlePayout({ ...name, outcome: { kind: 'succeeded', ended: step.ended }, nowMs });
          return lookAgain();
        case 'renew':
          // What was concluded from the attempts that are known here holds only if they are all there are.
          await lease.follow();
          await database.newGeneration({ ...name, proof: step.proof, ended: step.ended, nowMs });
          return lookAgain();
        case 'stick': {
          const { code, message, ended, haltsLane } = step;
          await lease.follow();
          const haltsPayer = haltsLane ? draft.payer : null;
          await database.stickPayout({ ...name, why: { code, message }, ended, haltsPayer, nowMs });
          return lookAgain();
        }
      }
    }

    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const step: Step = decide(payout, attempts, outcome, memory, clock.nowMs(), pace);
      const end = await act(step);
      if (end) return end;
    }
    return lookAgain();
  };
}

const toSent = ({ tx, terms, payer }: SignedAttempt): SentAttempt => ({ tx, terms, payer });
