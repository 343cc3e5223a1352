/**
 * Decides the next step of a payout from the stored state and the chain's answers, so that it is paid exactly once. The
 * engine in `indexers/` takes the step and asks again. After a crash it asks with the old state and repeats the same
 * step.
 *
 * Safety rests on this order: allot (attempt and nonce are stored) → sign (the signer stores the bytes) → record (we
 * store them) → send those bytes. Nothing is signed again before final state has shown that no earlier attempt can be
 * mined.
 */
import { type Intent, isPayback, type Wallet } from './intent.ts';
import { type Reason, reason } from './reasons.ts';
import { isRefused, type Outcome, type Quote, type RefusedCode, type Terms } from './spend.ts';
import type { NetworkKey } from './transfer.ts';

/**
 * - `waiting`: no attempt of this generation is allotted. `sent`: one is allotted, and may be on its way to the chain.
 * - `stuck`: a person must decide. `succeeded`, `failed` and `canceled` are final.
 */
export const payoutStates = ['waiting', 'sent', 'succeeded', 'failed', 'canceled', 'stuck'] as const;
export type PayoutState = (typeof payoutStates)[number];

/**
 * The end of a generation of attempts, at finality. `failed`: one failed, or another transaction used their nonce.
 * `dead`: they expired, and none can ever be mined.
 */
export type Proof = 'failed' | 'dead';

export type Payout = Readonly<{
  id: string;
  network: NetworkKey;
  intent: Intent;
  /** The session of a refund or return. */
  sessionId: string | null;
  /** The payout that this one makes possible. */
  servesId: string | null;
  state: PayoutState;
  generation: number;
  /** The end of the previous generation; null for the first. */
  proof: Proof | null;
  /** The reason why the payout waits; null if it does not wait. */
  wait: Reason | null;
  /** The fault of the engine's last try, such as a node without an answer; null if there was none. */
  fault: Reason | null;
  /** No attempt is allotted before this time. */
  notBeforeMs: number;
  tx: string | null;
  feeUnits: bigint | null;
  createdAtMs: number;
  updatedAtMs: number;
  settledAtMs: number | null;
}>;

/** Returns why a payout does not advance: the current fault, or the stored reason. */
export const delayOf = ({ wait, fault }: Pick<Payout, 'wait' | 'fault'>): Payout['wait'] => fault ?? wait;

/** A signature that was or will be requested. `tx` and `bytes` are set once it is recorded. */
export type Attempt = Readonly<{
  generation: number;
  /** 0, and one more for each replacement with the same nonce. */
  attempt: number;
  /** Address key of the wallet that pays the fee. */
  payer: string;
  payerRole: Wallet['role'];
  nonce: number | null;
  terms: Terms;
  /** The highest possible fee, in base units of the native coin. */
  feeUnitsMax: bigint;
  tx: string | null;
  bytes: Uint8Array | null;
  signedAtMs: number | null;
  sentAtMs: number | null;
  /** The node's last answer to it, as a code and in words. */
  answerCode: string | null;
  answer: string | null;
  /** The fee paid, once the attempt is final on the chain. */
  feeUnits: bigint | null;
}>;

/** An attempt whose bytes are stored. */
export type SignedAttempt = Attempt & Readonly<{ tx: string; bytes: Uint8Array; signedAtMs: number }>;

export const isSigned = (attempt: Attempt): attempt is SignedAttempt =>
  attempt.tx !== null && attempt.bytes !== null && attempt.signedAtMs !== null;

export type PayoutRules = Readonly<{
  /** See `SpendRules` in `chains/spend.ts`. */
  lane: 'sequence' | 'expiry';
  /** Wait before the same bytes are sent to the node again. */
  resendMs: number;
  /** Longest wait of an attempt for a block, after which its fee is compared with the current price. */
  outbidMs: number;
}>;

/** Most generations that fail on the chain before a person must look. Each costs its fee. */
export const GENERATIONS_MAX = 5;
/** Returns an attempt's readable name, made of its generation and its number. */
export const attemptName = ({ generation, attempt }: Pick<Attempt, 'generation' | 'attempt'>): string =>
  `${generation}.${attempt}`;
/** Waits of a payout after each generation that ended without effect. The last one repeats. */
const RENEWAL_MS = [0, 60_000, 300_000, 900_000, 3_600_000] as const;
/** Most attempts of one generation. Further signatures would not help. */
export const ATTEMPTS_MAX = 8;

/** Actions of this engine run for the payout; null for none. They need not survive a restart. */
export type Recent = Readonly<{ sentAtMs: number | null; outbidAtMs: number | null }>;

/** The final attempt that ended a generation. */
export type Ended = Readonly<{ tx: string; feeUnits: bigint }>;

export type Step =
  /** Do nothing before this time; null for nothing until a person acts. */
  | Readonly<{ kind: 'rest'; untilMs: number | null }>
  /** Ask for a quote of a first attempt of this generation; see `isHopeless`. */
  | Readonly<{ kind: 'quote' }>
  | Readonly<{ kind: 'sign'; attempt: Attempt }>
  | Readonly<{ kind: 'send'; attempt: SignedAttempt }>
  /** Ask the nodes for the outcome of the attempts, and decide again with it. */
  | Readonly<{ kind: 'ask' }>
  /** Ask for a quote of a replacement of the newest attempt; see `isOutbid`. */
  | Readonly<{ kind: 'outbid'; newest: SignedAttempt }>
  | Readonly<{ kind: 'succeed'; ended: Ended }>
  /**
   * Begin the next generation, with no attempt before `notBeforeMs`, or stuck until a person acts. `why` is the reason
   * to wait, or null.
   */
  | Readonly<{
      kind: 'renew';
      proof: Proof;
      ended: Ended | null;
      notBeforeMs: number;
      isStuck: boolean;
      why: Reason | null;
    }>
  | Readonly<{ kind: 'stick'; why: Reason }>;

/**
 * Returns the next step of a payout.
 * @param attempts the attempts of its current generation, in order
 * @param outcome the nodes' current answer; null if they were not asked
 */
export function decide(
  payout: Payout,
  attempts: readonly Attempt[],
  outcome: Outcome | null,
  recent: Recent,
  nowMs: number,
  rules: PayoutRules,
): Step {
  if (payout.state !== 'waiting' && payout.state !== 'sent') return { kind: 'rest', untilMs: null };
  const newest = attempts.at(-1);
  if (!newest) {
    return nowMs < payout.notBeforeMs ? { kind: 'rest', untilMs: payout.notBeforeMs } : { kind: 'quote' };
  }
  if (!isSigned(newest)) return { kind: 'sign', attempt: newest };
  if (newest.sentAtMs === null) return { kind: 'send', attempt: newest };
  if (outcome === null) return { kind: 'ask' };
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'succeed', ended: outcome };
    case 'failed':
      return renew(payout, 'failed', outcome, nowMs);
    case 'dead':
      return renew(payout, 'dead', null, nowMs);
    case 'foreign':
      return { kind: 'stick', why: { code: 'payout_nonce_foreign', message: outcome.message } };
    case 'waiting':
      return outcome.included === null ? chase(attempts, newest, recent, nowMs, rules) : restFor(rules.resendMs, nowMs);
  }
}

/**
 * Returns the next step of a payout while money out is frozen. Nothing is quoted, signed or sent, not even again.
 * Signed attempts are watched, because they may be on the chain.
 */
export function decideFrozen(...[payout, attempts, outcome, recent, nowMs, rules]: Parameters<typeof decide>): Step {
  const step = decide(payout, attempts, outcome, recent, nowMs, rules);
  if (!spending.includes(step.kind)) return step;
  if (outcome === null && attempts.some(isSigned)) return { kind: 'ask' };
  return outcome?.kind === 'succeeded' ? { kind: 'succeed', ended: outcome } : restFor(rules.resendMs, nowMs);
}

const spending: readonly Step['kind'][] = ['quote', 'sign', 'send', 'outbid'];

/** Handles an attempt that is in no block. Sends the same bytes again or, on a chain with nonces, compares its fee. */
function chase(
  attempts: readonly Attempt[],
  newest: SignedAttempt,
  recent: Recent,
  nowMs: number,
  rules: PayoutRules,
): Step {
  if (recent.sentAtMs === null || nowMs >= recent.sentAtMs + rules.resendMs) return { kind: 'send', attempt: newest };
  const comparedAtMs = Math.max(newest.sentAtMs ?? 0, recent.outbidAtMs ?? 0);
  const mayOutbid = rules.lane === 'sequence' && attempts.length < ATTEMPTS_MAX;
  if (mayOutbid && nowMs >= comparedAtMs + rules.outbidMs) return { kind: 'outbid', newest };
  return { kind: 'rest', untilMs: recent.sentAtMs + rules.resendMs };
}

function renew({ id, generation, intent }: Payout, proof: Proof, ended: Ended | null, nowMs: number): Step {
  const pauseMs = RENEWAL_MS[generation] ?? RENEWAL_MS.at(-1) ?? 0;
  const renewal = { kind: 'renew', proof, ended, notBeforeMs: nowMs + pauseMs } as const;
  const count = generation + 1;
  const of = { id, isPayback: isPayback(intent), count };
  if (proof === 'failed' && count >= GENERATIONS_MAX) {
    return { ...renewal, isStuck: true, why: reason('payout_generations', { ...of, tx: ended?.tx ?? '' }) };
  }
  const ending = proof === 'dead' ? 'expired' : 'failed';
  const why = pauseMs === 0 ? null : reason('payout_not_included', { ...of, pauseMs, ended: ending });
  return { ...renewal, isStuck: false, why };
}

const restFor = (ms: number, nowMs: number): Step => ({ kind: 'rest', untilMs: nowMs + ms });

// ── Quotes ───────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns whether the refusal of a first attempt fails the payout, because the receiver is frozen or cannot be paid.
 * With any other the payout waits.
 */
export const isHopeless = (code: RefusedCode): boolean =>
  code === 'destination_frozen' || code === 'destination_invalid';

/** Returns whether the price has risen above an attempt's fee. If it has not, a higher fee would not help. */
export const isOutbid = (newest: Attempt, price: Quote): boolean =>
  !isRefused(price) && price.feeUnitsMax > newest.feeUnitsMax;

// ── Refusals by the signer ────────────────────────────────────────────────────────────────────────────────────

const stopping: readonly string[] = ['signer_refused_fence', 'signer_refused_nonce'];
const sticking: readonly string[] = [
  'signer_refused_mac',
  'signer_refused_intent',
  'signer_refused_generation',
  'signer_refused_attempt',
  'signer_refused_check',
];

/**
 * Interprets a signer's refusal.
 * - `stop`: the signer already served another engine or a later state of this database. Ask for nothing more.
 * - `stick`: the intent was altered or contradicts an earlier signature. A person must look at this payout.
 * - `wait`: an approval, room under a cap or another policy may come.
 */
export function judgeRefusal(code: string): 'stop' | 'stick' | 'wait' {
  if (stopping.includes(code)) return 'stop';
  return sticking.includes(code) ? 'stick' : 'wait';
}

const WAIT_MS_MIN = 5_000;
/** Longest wait before a waiting payout is looked at again. */
export const WAIT_MS_MAX = 300_000;

/** Returns the time of the next look at a waiting payout. Looks are frequent at first, and later five minutes apart. */
export const nextLookAtMs = ({ createdAtMs }: Pick<Payout, 'createdAtMs'>, nowMs: number): number =>
  nowMs + Math.min(WAIT_MS_MAX, Math.max(WAIT_MS_MIN, (nowMs - createdAtMs) / 4));
