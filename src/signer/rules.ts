/** Decides from the journal whether an intent may be signed, or signed again. `caps.ts` checks the amounts. */
import type { SpendRules } from '../chains/spend.ts';
import { type Fault, permanent } from '../core/fault.ts';
import { ATTEMPTS_MAX } from '../core/payout.ts';
import type { Terms } from '../core/spend.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import { isSameContent, type SignedIntent } from './journal.ts';
import type { SignRequest } from './protocol.ts';

/**
 * An engine's fence rises by one per start, and a journal's by 100,000 per restore. Anybody who can open the socket can
 * lock the engine out with a higher fence. With this limit, an engine can still get above it.
 */
const FENCE_STEP_MAX = 1_000_000;
/** The last time that a `Date` can show, in ms (ECMA-262, "Time Values and Time Range"). */
const DATE_MS_MAX = 8.64e15;
/**
 * Longest time from the signer's clock to a transaction's expiry. Until then, its payout is not signed again. No chain
 * takes a transaction that can be included for longer than a day. The other day is for clocks that differ.
 */
const EXPIRES_IN_MS_MAX = 2 * DAY_MS;

/** Rules that a request to sign may break. Each is the end of a code, `signer_refused_…`. */
const signerRules = [
  'request',
  'policy',
  'fence',
  'frozen',
  'intent',
  'generation',
  'attempt',
  'expiry',
  'duplicate',
  'nonce',
  'wallet',
  'mac',
  'approval',
  'cap',
  'terms',
  'check',
] as const;
type Rule = (typeof signerRules)[number];

/** Returns the error for a request that breaks a rule. */
export const refused = (rule: Rule, message: string): Fault => permanent(`signer_refused_${rule}`, message);

/** Checks that no later engine was served. @throws Fault `signer_refused_fence` */
export function checkFence(network: NetworkKey, fence: number, highest: number): void {
  if (fence < highest) {
    throw refused(
      'fence',
      `this engine's fence is ${fence}, but ${highest} was already served: another engine is running, or the database was restored from a backup. Stop the other one, then run \`quayside payout reconcile ${network}\``,
    );
  }
  if (fence > highest + FENCE_STEP_MAX) {
    throw refused(
      'fence',
      `a fence of ${fence} after ${highest} cannot be an engine's; find out which program uses the signer's socket`,
    );
  }
}

type Order = Readonly<{
  request: SignRequest;
  /** The intent's canonical text. */
  content: string;
  /** The intent in the journal. */
  known: SignedIntent | null;
  rules: Pick<SpendRules, 'lane' | 'expiresAtMs'>;
  nonce: number | null;
  nowMs: number;
}>;

/** Returns the terms' nonce; null if transactions expire instead. @throws Fault `signer_refused_nonce` */
export function nonceOf(lane: SpendRules['lane'], terms: Terms): number | null {
  if (lane === 'expiry') return null;
  const { nonce } = terms;
  if (nonce !== undefined && /^(0|[1-9]\d{0,14})$/.test(nonce)) return Number(nonce);
  throw refused('nonce', 'the terms have no nonce');
}

/**
 * Checks that a new signature may follow those in the journal.
 * @throws Fault `signer_refused_intent`, `…_generation`, `…_expiry`, `…_attempt`, `…_nonce`, `…_terms`
 */
export function checkOrder({ request, content, known, rules, nonce, nowMs }: Order): void {
  const { generation, attempt, proof } = request;
  if (known && !isSameContent(known.content, content)) {
    throw refused(
      'intent',
      `${request.intent.id} was already signed with different contents; refusing to sign it again with these`,
    );
  }
  if ((generation === 0) !== (proof === null)) {
    throw refused(
      'generation',
      'every generation except the first needs proof that the one before is dead or failed; the first has none',
    );
  }
  const newest = known?.newest.generation ?? -1;
  const isNext = generation === newest + 1;
  if (!isNext && generation !== newest) {
    throw refused('generation', `generation ${generation} is out of order: the next one to sign is ${newest + 1}`);
  }
  const attempts = isNext ? 0 : (known?.newest.attempts ?? 0);
  if (attempt !== attempts)
    throw refused('attempt', `attempt ${attempt} is out of order: the next one to sign is ${attempts}`);
  if (attempt === 0) {
    if (known && proof === 'dead') checkDeath(known.newest, rules, nowMs);
    checkExpiry(request.terms, rules, nowMs);
    return;
  }
  if (attempt >= ATTEMPTS_MAX)
    throw refused('attempt', `at most ${ATTEMPTS_MAX} transactions are signed for one nonce`);
  if (rules.lane === 'expiry')
    throw refused(
      'attempt',
      'a second attempt could take effect in addition to the first; sign a new generation once the first is dead',
    );
  if (nonce !== known?.newest.nonce) {
    throw refused(
      'nonce',
      `a replacement must have the nonce of the transaction that it replaces: ${known?.newest.nonce}, not ${nonce}`,
    );
  }
}

/**
 * Checks that a transaction that is never mined does not keep its payout waiting for long.
 * @throws Fault `signer_refused_terms`
 */
function checkExpiry(terms: Terms, { expiresAtMs }: Pick<SpendRules, 'expiresAtMs'>, nowMs: number): void {
  const untilMs = expiresAtMs?.(terms, nowMs) ?? nowMs;
  if (untilMs <= nowMs + EXPIRES_IN_MS_MAX) return;
  throw refused(
    'terms',
    `the transaction would expire at ${timeText(untilMs)}, more than two days after the signer's time, ${timeText(nowMs)}; check the machine's clock and the node's`,
  );
}

/** A time may be too large for a `Date`. */
const timeText = (ms: number): string =>
  Math.abs(ms) <= DATE_MS_MAX ? new Date(ms).toISOString() : `${ms} ms after 1970`;

/**
 * Checks, by the signer's own clock, that an attempt may be dead. An attempt with a nonce never is. Until its nonce is
 * used, it can be mined. Afterwards, it has failed or another transaction with the nonce was mined.
 * @throws Fault `signer_refused_generation`, `signer_refused_expiry`
 */
function checkDeath(
  { terms, signedAtMs }: SignedIntent['newest'],
  { expiresAtMs }: Pick<SpendRules, 'expiresAtMs'>,
  nowMs: number,
): void {
  if (!expiresAtMs) {
    throw refused(
      'generation',
      'a transaction with a nonce can be mined until the nonce is used, so it is never dead: a new generation needs proof that the one before failed',
    );
  }
  const untilMs = expiresAtMs(terms, signedAtMs);
  if (nowMs > untilMs) return;
  throw refused(
    'expiry',
    `the transaction that was signed before can be included until ${timeText(untilMs)} by the signer's clock; check the machine's clock if that has passed`,
  );
}
