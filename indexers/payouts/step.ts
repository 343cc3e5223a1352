/** Advances one payout as far as possible: asks `core/payout` for the next step, does it, and asks again. */
import type PQueue from 'p-queue';
import type { PayoutNode, SentAttempt, SpendDraft } from '../../src/chains/spend.ts';
import { Fault, invariant, permanent } from '../../src/core/fault.ts';
import {
  type Attempt,
  decide,
  decideFrozen,
  isHopeless,
  isOutbid,
  isSigned,
  judgeRefusal,
  nextLookAtMs,
  type Payout,
  type PayoutRules,
  type Recent,
  type SignedAttempt,
  type Step,
} from '../../src/core/payout.ts';
import { type Reason, reason, reasonFault } from '../../src/core/reasons.ts';
import { isRefused, type Quote } from '../../src/core/spend.ts';
import type { OpenPayout } from '../../src/database/payouts/attempts.ts';
import type { PayoutLease } from './journal.ts';
import { finalCountLost, type PayerOptions } from './nodes.ts';
import type { SettlingIn } from './settling-in.ts';
import type { PayoutWallets } from './wallets.ts';

/** More steps than any payout needs before it must wait for something. */
const STEPS_MAX = 20;
/** While a wallet's newest attempt is being signed, the next nonce will be free soon. */
const LANE_WAIT_MS = 1000;
/** Interval of the checks whether an allotted attempt may be signed. */
const HOLD_MS = 5000;

type AdvanceParts = PayerOptions &
  Readonly<{
    wallets: PayoutWallets;
    lease: PayoutLease;
    pace: PayoutRules;
    /** Queues allotting and signing, one at a time where nonces must not have gaps. */
    allotting: PQueue;
    /**
     * Null where the family needs no settling-in. Locks do not replace it, because a lock excludes no payment by
     * another wallet.
     */
    settlingIn: Pick<SettlingIn, 'current'> | null;
  }>;

/** The time of the payout's next step, and its memory until then. */
export type Progress = Readonly<{
  nextAtMs: number;
  memory: Recent;
  /** The newest quote of a first attempt, with its draft; null if there was none. */
  quoted: Readonly<{ draft: SpendDraft; quote: Quote }> | null;
}>;

export type AdvancePayout = (open: OpenPayout, memory: Recent) => Promise<Progress>;

/** One payout while it is advanced. */
type Work = {
  readonly parts: AdvanceParts;
  readonly payout: Payout;
  readonly approval: OpenPayout['approval'];
  readonly draft: SpendDraft;
  attempts: readonly Attempt[];
  memory: Recent;
  quoted: Progress['quoted'];
  outcome: Awaited<ReturnType<PayoutNode['outcome']>> | null;
};

export function createAdvancePayout(parts: AdvanceParts): AdvancePayout {
  return async ({ payout, approval, attempts }, memory) => {
    const draft = await parts.wallets.draft(payout.intent, { payer: attempts[0]?.payer });
    const work: Work = { parts, payout, approval, draft, attempts, memory, quoted: null, outcome: null };
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const next = (await isFrozen(work)) ? decideFrozen : decide;
      const step: Step = next(payout, work.attempts, work.outcome, work.memory, parts.clock.nowMs(), parts.pace);
      const end = await act(work, step);
      if (end) return end;
    }
    return lookAgain(work);
  };
}

const isFrozen = async ({ parts, payout }: Work) => (await parts.database.holds.find(payout.network)) !== null;
const nameOf = ({ payout: { id, generation } }: Work) => ({ id, generation });
const restUntil = ({ memory, quoted }: Work, nextAtMs: number): Progress => ({ nextAtMs, memory, quoted });
const lookAgain = (work: Work): Progress => restUntil(work, work.parts.clock.nowMs());
const later = ({ parts, payout }: Work): number => nextLookAtMs(payout, parts.clock.nowMs());

/**
 * Does one step.
 * @returns null to decide again at once
 */
async function act(work: Work, step: Step): Promise<Progress | null> {
  const { node, database, lease, allotting, clock } = work.parts;
  const name = nameOf(work);
  const nowMs = clock.nowMs();
  const hold = work.parts.settlingIn?.current();
  switch (step.kind) {
    case 'rest':
      return restUntil(work, step.untilMs ?? Number.POSITIVE_INFINITY);
    case 'quote':
      if (hold) return waitFor(work, { code: hold.code, message: hold.message });
      return allotting.add(() => begin(work));
    case 'sign':
      // A replacement need not wait for settling-in, because only one of the two can be mined.
      if (hold && step.attempt.attempt === 0) return restUntil(work, nowMs + HOLD_MS);
      return allotting.add(() => sign(work, step.attempt));
    case 'send':
      return send(work, step.attempt);
    case 'ask':
      work.outcome = await node.outcome(work.draft, work.attempts.filter(isSigned).map(toSent));
      return null;
    case 'outbid':
      return allotting.add(() => outbid(work, step.newest));
    case 'succeed':
      await database.payouts.settle({ ...name, outcome: { kind: 'succeeded', ended: step.ended }, nowMs });
      return lookAgain(work);
    case 'renew':
      // Conclusions from the known attempts are valid only if there are no others.
      await lease.follow();
      await database.payouts.renew({ ...name, ...step, nowMs });
      return lookAgain(work);
    case 'stick':
      await lease.follow();
      await database.payouts.stick({ ...name, why: step.why, freezes: true, nowMs });
      return lookAgain(work);
  }
}

/**
 * Makes a first attempt. It gets a nonce, a quote and the signature before another payout gets the wallet's next nonce.
 */
async function begin(work: Work): Promise<Progress | null> {
  const { parts, draft } = work;
  const { node, database, clock } = parts;
  const nonce = await nextNonce(work);
  if (nonce === 'soon') return restUntil(work, clock.nowMs() + LANE_WAIT_MS);
  const quote = await node.quote(draft, nonce, []);
  work.quoted = { draft, quote };
  if (!isRefused(quote)) return allot(work, 0, nonce, quote.terms, quote.feeUnitsMax);
  const { refused: code, message } = quote;
  if (!isHopeless(code)) return waitFor(work, { code, message });
  const outcome = { kind: 'failed', code, message } as const;
  await database.payouts.settle({ ...nameOf(work), outcome, nowMs: clock.nowMs() });
  return lookAgain(work);
}

/** Records why the payout cannot begin now. */
async function waitFor(work: Work, wait: Reason): Promise<Progress> {
  const { database, clock } = work.parts;
  const nextLookAtMs = later(work);
  await database.payouts.recordWait({ ...nameOf(work), wait, nextLookAtMs, nowMs: clock.nowMs() });
  return restUntil(work, nextLookAtMs);
}

/**
 * Returns the wallet's next nonce; null if the family has no nonces, `soon` while another payout uses one.
 * @throws Fault transient `node_history_pruned` if nothing shows the wallet's first nonce here
 */
async function nextNonce(work: Work): Promise<number | null | 'soon'> {
  const { parts, payout, draft } = work;
  const { node, database, rules, clock } = parts;
  if (rules.lane === 'expiry') return null;
  const { payer } = draft;
  const count = await node.count(payer);
  invariant(count, `the node of ${payout.network} counts transactions`);
  const offer = await database.payouts.offerNonce(payout.network, payer, count, clock.nowMs());
  if (offer.kind === 'unsettled') throw finalCountLost(payout.network, payer);
  return offer.kind === 'free' ? offer.nonce : 'soon';
}

async function allot(
  work: Work,
  attempt: number,
  nonce: number | null,
  terms: Attempt['terms'],
  feeUnitsMax: bigint,
): Promise<Progress | null> {
  const { payout, draft, parts } = work;
  const payerRole = parts.rules.payer(payout.intent).role;
  const own = {
    ...nameOf(work),
    attempt,
    intent: payout.intent,
    payer: draft.payer,
    payerRole,
    nonce,
    terms,
    feeUnitsMax,
  };
  const outcome = await parts.database.payouts.allot({ ...own, nowMs: parts.clock.nowMs() });
  if (outcome.kind === 'moved') return lookAgain(work);
  work.attempts = [...work.attempts, outcome.attempt];
  return sign(work, outcome.attempt);
}

/**
 * Has an attempt signed.
 * @returns null when it is signed and recorded
 */
async function sign(work: Work, { attempt, terms }: Attempt): Promise<Progress | null> {
  const { payout, approval, parts } = work;
  // The queue may have delayed this long after the decision.
  if (await isFrozen(work)) return lookAgain(work);
  const { id, generation, intent, proof } = payout;
  try {
    const { payer } = work.draft;
    const request = { fence: parts.lease.fence, intent, generation, attempt, proof, terms, approval, payer };
    await parts.signer.sign(request);
  } catch (error) {
    // Without an answer, the attempt may have been signed, so the request is repeated.
    if (!(error instanceof Fault) || error.kind === 'transient') throw error;
    return refused(work, attempt, error);
  }
  await reload(work);
  if (isSignedHere(work, attempt)) return null;
  throw reasonFault('signer_journal_behind', { network: payout.network, what: `an entry for payout ${id}` });
}

async function reload(work: Work): Promise<void> {
  const { parts, payout } = work;
  await parts.lease.follow();
  const all = await parts.database.payouts.attempts(payout.id);
  work.attempts = all.filter((one) => one.generation === payout.generation);
}

const isSignedHere = ({ attempts }: Work, attempt: number): boolean =>
  attempts.some((one) => one.attempt === attempt && isSigned(one));

async function refused(work: Work, attempt: number, fault: Fault): Promise<Progress | null> {
  const { code, message } = fault;
  const { database, clock, pace } = work.parts;
  const name = nameOf(work);
  const judged = judgeRefusal(code);
  if (judged === 'stop') throw permanent(code, message);
  await reload(work);
  // The refusal does not matter, because the attempt had been signed before.
  if (isSignedHere(work, attempt)) return null;
  const wait: Reason = { code, message };
  const nowMs = clock.nowMs();
  await database.payouts.withdraw({ ...name, attempt, wait, nextLookAtMs: later(work), nowMs });
  if (judged === 'stick') await database.payouts.stick({ ...name, why: wait, freezes: false, nowMs });
  return restUntil(work, attempt === 0 ? later(work) : nowMs + pace.resendMs);
}

/**
 * Broadcasts an attempt, unless the chain's SDK reads something other than the order.
 * @returns null to decide again at once
 */
async function send(work: Work, attempt: SignedAttempt): Promise<Progress | null> {
  const { node, database, clock, secondOpinion } = work.parts;
  const differences = await secondOpinion(work.draft, attempt);
  if (differences.length > 0) return holdBack(work, attempt, differences);
  const { refusal, ...answered } = await broadcast(node, attempt);
  const nowMs = clock.nowMs();
  work.memory = { ...work.memory, sentAtMs: nowMs };
  const isSame = attempt.answerCode === answered.answerCode && attempt.answer === answered.answer;
  if (attempt.sentAtMs !== null && isSame) return null;
  await database.payouts.recordSent({ ...nameOf(work), attempt: attempt.attempt, ...answered, refusal, nowMs });
  const sent = { ...attempt, sentAtMs: attempt.sentAtMs ?? nowMs, ...answered };
  work.attempts = work.attempts.map((one) => (one.attempt === attempt.attempt ? sent : one));
  return null;
}

/** Stops a payout whose bytes differ from the order, and its network, because other payouts may be altered too. */
async function holdBack(work: Work, { tx }: SignedAttempt, differences: readonly string[]): Promise<Progress> {
  const { database, clock } = work.parts;
  const { id, network } = work.payout;
  const why = reason('payout_bytes_differ', { id, network, tx, differences: differences.join('; ') });
  await database.payouts.stick({ ...nameOf(work), why, freezes: true, nowMs: clock.nowMs() });
  return lookAgain(work);
}

/** Broadcasts. No answer proves anything, because a node that fails may still have relayed the transaction. */
async function broadcast(node: PayoutNode, { bytes }: SignedAttempt) {
  try {
    const answer = await node.broadcast(bytes);
    if (answer.kind !== 'rejected') return { answerCode: answer.kind, answer: answer.kind, refusal: null };
    const { code, message } = answer;
    const refusal = reason('payout_not_included', { code, answer: message });
    return { answerCode: code, answer: `rejected ${code}: ${message}`, refusal };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { answerCode: 'no_answer', answer: `no answer: ${error.code}`, refusal: null };
  }
}

/** Makes a replacement with the same nonce, if the price of gas has risen above the offer. */
async function outbid(work: Work, newest: SignedAttempt): Promise<Progress | null> {
  const { node, clock } = work.parts;
  const { draft } = work;
  work.memory = { ...work.memory, outbidAtMs: clock.nowMs() };
  if (!isOutbid(newest, await node.quote(draft, newest.nonce, []))) return lookAgain(work);
  const terms = work.attempts.map((attempt) => attempt.terms);
  const quote = await node.quote(draft, newest.nonce, terms);
  if (isRefused(quote)) return lookAgain(work);
  return allot(work, newest.attempt + 1, newest.nonce, quote.terms, quote.feeUnitsMax);
}

const toSent = ({ tx, terms, payer }: SignedAttempt): SentAttempt => ({ tx, terms, payer });
