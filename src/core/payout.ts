/**
 * How a payout is carried out so that it happens once: what to do next, from what is kept and what the chain shows. The shell in
 * `indexers/` does it and comes back with the new state; after a crash it comes back with the old one, and the same step is done again.
 *
 * The order that everything rests on: allot (attempt and sequence number are kept) → sign (the signer keeps the bytes) → record (we keep
 * them) → send those bytes. Nothing is signed anew before the chain itself has shown, at finality, that no earlier attempt can stand on it.
 * @module
 */
import type { Intent, Wallet } from './intent.ts';
import type { NetworkKey } from './transfer.ts';

/**
 * - `waiting`: no attempt of this generation is allotted. `sent`: one is, and is on its way to the chain.
 * - `stuck`: only a person can say how it goes on. `succeeded`, `failed` and `canceled` are the end.
 */
export type PayoutState = 'waiting' | 'sent' | 'succeeded' | 'failed' | 'canceled' | 'stuck';

/** How a generation of attempts ended, at finality: one failed, or none can ever stand on the chain. */
export type Proof = 'failed' | 'dead';

export type Payout = Readonly<{
  id: string;
  network: NetworkKey;
  intent: Intent;
  /** Of a refund: the session whose money is given back. */
  sessionId: string | null;
  /** The payout that this one makes possible. */
  servesId: string | null;
  state: PayoutState;
  generation: number;
  /** How the generation before ended; null for the first. */
  proof: Proof | null;
  /** Why nothing moves, where something keeps it from moving. */
  wait: Readonly<{ code: string; message: string }> | null;
  /** Nothing is allotted before. */
  notBeforeMs: number;
  tx: string | null;
  feeUnits: bigint | null;
  createdAtMs: number;
  updatedAtMs: number;
  settledAtMs: number | null;
}>;

/** One signature that was asked for, or is about to be. `tx` and `bytes` are there once it was recorded. */
export type Attempt = Readonly<{
  generation: number;
  /** 0, and one more for each replacement with the same sequence number. */
  attempt: number;
  /** Address key of the wallet that pays the fee. */
  payer: string;
  payerRole: Wallet['role'];
  nonce: number | null;
  terms: Readonly<Record<string, string>>;
  /** What it may cost, in base units of the native coin. */
  feeUnitsMax: bigint;
  tx: string | null;
  bytes: Uint8Array | null;
  allottedAtMs: number;
  signedAtMs: number | null;
  sentAtMs: number | null;
  /** What a node said to it last. */
  answer: string | null;
  /** What it did cost, once it is final on the chain. */
  feeUnits: bigint | null;
}>;

/** An attempt whose bytes are kept. */
export type SignedAttempt = Attempt & Readonly<{ tx: string; bytes: Uint8Array; signedAtMs: number }>;

export const isSigned = (attempt: Attempt): attempt is SignedAttempt =>
  attempt.tx !== null && attempt.bytes !== null && attempt.signedAtMs !== null;

/** What became of a generation's attempts; as `Outcome` of the chain seam has it. */
type Outcome =
  | Readonly<{ kind: 'waiting'; included: unknown }>
  | Readonly<{ kind: 'succeeded' | 'failed'; tx: string; feeUnits: bigint }>
  | Readonly<{ kind: 'dead' }>
  | Readonly<{ kind: 'foreign'; message: string }>;

export type PayoutRules = Readonly<{
  /** As `SpendRules` of the chain seam has it. */
  lane: 'sequence' | 'expiry';
  /** How long a node is given before the same bytes are handed to it again. */
  resendMs: number;
  /** How long an attempt may wait for a block before its fee is compared with the price. */
  outbidMs: number;
}>;

/** Generations of one payout, and replacements within one; with more of them something is wrong that more signatures will not cure. */
export const GENERATIONS_MAX = 5;
export const ATTEMPTS_MAX = 8;
/** Numbers of one wallet that may be open at once: what nodes keep of one sender. */
export const IN_FLIGHT_MAX = 16;

/** What this run of the engine did last for the payout; null: nothing. It need not survive a restart. */
export type Recent = Readonly<{ sentAtMs: number | null; outbidAtMs: number | null }>;

/** A final attempt that is named where a generation ends. */
export type Ended = Readonly<{ tx: string; feeUnits: bigint }>;

export type Step =
  /** Nothing to do before this moment; null: nothing ever, unless a person acts. */
  | Readonly<{ kind: 'rest'; untilMs: number | null }>
  /** Ask what a first attempt of this generation takes; see `judgeQuote`. */
  | Readonly<{ kind: 'quote' }>
  | Readonly<{ kind: 'sign'; attempt: Attempt }>
  | Readonly<{ kind: 'send'; attempt: SignedAttempt }>
  /** Ask the nodes what became of the attempts, and decide again with the answer. */
  | Readonly<{ kind: 'ask' }>
  /** Ask what a replacement of the newest attempt takes; see `isOutbid`. */
  | Readonly<{ kind: 'outbid'; newest: SignedAttempt }>
  | Readonly<{ kind: 'succeed'; ended: Ended }>
  | Readonly<{ kind: 'renew'; proof: Proof; ended: Ended | null }>
  | Readonly<{ kind: 'stick'; code: string; message: string; ended: Ended | null; haltsLane: boolean }>;

/**
 * The next step of a payout.
 * @param attempts those of its current generation, in order
 * @param outcome what the nodes said just now; null when they were not asked
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
      return renew(payout, 'failed', outcome);
    case 'dead':
      return renew(payout, 'dead', null);
    case 'foreign':
      return { kind: 'stick', code: 'payout_nonce_foreign', message: outcome.message, ended: null, haltsLane: true };
    case 'waiting':
      return outcome.included === null ? chase(attempts, newest, recent, nowMs, rules) : restFor(rules.resendMs, nowMs);
  }
}

/** The attempt is in no block: the same bytes go out again, and where a number can be used again its fee may have become too small. */
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

function renew({ id, generation }: Payout, proof: Proof, ended: Ended | null): Step {
  if (generation + 1 < GENERATIONS_MAX) return { kind: 'renew', proof, ended };
  const message = `All ${GENERATIONS_MAX} generations of payout ${id} have ended without effect (the last one: ${proof}). Find out why, then \`quayside payouts resume ${id}\`.`;
  return { kind: 'stick', code: 'payout_generations', message, ended, haltsLane: false };
}

const restFor = (ms: number, nowMs: number): Step => ({ kind: 'rest', untilMs: nowMs + ms });

// ── What a quote means ───────────────────────────────────────────────────────────────────────────────────────────────

/** As the chain seam has it. */
type Quote =
  | Readonly<{ kind: 'quoted'; terms: Readonly<Record<string, string>>; feeUnitsMax: bigint }>
  | Readonly<{ kind: 'refused'; code: string; message: string }>;

export type QuoteStep =
  | Readonly<{ kind: 'allot'; terms: Readonly<Record<string, string>>; feeUnitsMax: bigint }>
  | Readonly<{ kind: 'wait'; code: string; message: string }>
  | Readonly<{ kind: 'fail'; code: string; message: string }>;

/** Only what no later moment can cure ends a payout: the receiver is frozen or cannot be paid. Everything else waits. */
const hopeless: readonly string[] = ['destination_frozen', 'destination_invalid'];

/** What follows from the quote for a first attempt; nothing of the payout can be on the chain then. */
export function judgeQuote(quote: Quote): QuoteStep {
  if (quote.kind === 'quoted') return { kind: 'allot', terms: quote.terms, feeUnitsMax: quote.feeUnitsMax };
  const { code, message } = quote;
  return { kind: hopeless.includes(code) ? 'fail' : 'wait', code, message };
}

/** Whether the price has risen above what an attempt offers: otherwise paying more would not bring it into a block. */
export const isOutbid = (newest: Attempt, price: Quote): boolean =>
  price.kind === 'quoted' && price.feeUnitsMax > newest.feeUnitsMax;

// ── What a signer's refusal means ────────────────────────────────────────────────────────────────────────────────────

const stopping: readonly string[] = ['signer_refused_fence', 'signer_refused_nonce'];
const sticking: readonly string[] = [
  'signer_refused_mac',
  'signer_refused_intent',
  'signer_refused_generation',
  'signer_refused_attempt',
  'signer_refused_check',
];

/**
 * - `stop`: another engine, or a later state of this database, was served before; nothing more may be asked for.
 * - `stick`: the intent was altered, or it contradicts what was signed; a person must look at this payout.
 * - `wait`: an approval, room under a cap, or another policy may come.
 */
export function judgeRefusal(code: string): 'stop' | 'stick' | 'wait' {
  if (stopping.includes(code)) return 'stop';
  return sticking.includes(code) ? 'stick' : 'wait';
}

const WAIT_MS_MIN = 5_000;
const WAIT_MS_MAX = 300_000;

/** When to look again at what waits: soon at first, at last every five minutes. */
export const nextLookAtMs = ({ createdAtMs }: Pick<Payout, 'createdAtMs'>, nowMs: number): number =>
  nowMs + Math.min(WAIT_MS_MAX, Math.max(WAIT_MS_MIN, (nowMs - createdAtMs) / 4));
