/**
 * Decides whether an intent may be signed, or signed again, given what the journal has. `caps.ts` has the amounts.
 */
import type { SpendRules } from '../chains/spend.ts';
import { type Fault, permanent } from '../core/fault.ts';
import { ATTEMPTS_MAX } from '../core/payout.ts';
import type { Terms } from '../core/spend.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { DAY_MS } from '../lib/clock.ts';
import { isSameContent, type SignedIntent } from './journal.ts';
import type { SignRequest } from './protocol.ts';

/**
 * An engine's fence rises by one per start, and a journal's by 100,000 per restore. README.md says why any step of who
 * has the socket locks the engine out; this one keeps fences below what an engine can exceed.
 */
const FENCE_STEP_MAX = 1_000_000;
/** The last time that a `Date` can show, in ms (ECMA-262, "Time Values and Time Range"). */
const DATE_MS_MAX = 8.64e15;
/**
 * How far after the signer's time a transaction may expire. No chain takes one that can be included for longer than a
 * day; the other day is for clocks that differ. Until it has expired, its payout is not signed again.
 */
const EXPIRES_IN_MS_MAX = 2 * DAY_MS;

/** Rules that a request to sign may break: each is the end of a code, `signer_refused_…`. */
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

/** Checks that no other engine was served since. @throws Fault `signer_refused_fence` */
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
  /** The journal's entries of this intent. */
  known: SignedIntent | null;
  rules: Pick<SpendRules, 'lane' | 'expiresAtMs'>;
  nonce: number | null;
  nowMs: number;
}>;

/** Returns the terms' sequence number; null if transactions expire instead. @throws Fault `signer_refused_nonce` */
export function nonceOf(lane: SpendRules['lane'], terms: Terms): number | null {
  if (lane === 'expiry') return null;
  const { nonce } = terms;
  if (nonce !== undefined && /^(0|[1-9]\d{0,14})$/.test(nonce)) return Number(nonce);
  throw refused('nonce', 'the terms have no sequence number (nonce)');
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
    throw refused('attempt', `at most ${ATTEMPTS_MAX} transactions are signed for one sequence number`);
  if (rules.lane === 'expiry')
    throw refused(
      'attempt',
      'a second attempt could take effect in addition to the first; sign a new generation once the first is dead',
    );
  if (nonce !== known?.newest.nonce) {
    throw refused(
      'nonce',
      `a replacement must have the sequence number of what it replaces: ${known?.newest.nonce}, not ${nonce}`,
    );
  }
}

/** Checks that what is signed now does not keep its payout waiting for long. @throws Fault `signer_refused_terms` */
function checkExpiry(terms: Terms, { expiresAtMs }: Pick<SpendRules, 'expiresAtMs'>, nowMs: number): void {
  const untilMs = expiresAtMs?.(terms, nowMs) ?? nowMs;
  if (untilMs <= nowMs + EXPIRES_IN_MS_MAX) return;
  throw refused(
    'terms',
    `the transaction would expire at ${timeText(untilMs)}, more than two days after the signer's time, ${timeText(nowMs)}; check the machine's clock and the node's`,
  );
}

/** A time may be one that no date shows. */
const timeText = (ms: number): string =>
  Math.abs(ms) <= DATE_MS_MAX ? new Date(ms).toISOString() : `${ms} ms after 1970`;

/**
 * Checks, by the signer's own clock, that an attempt may be dead. One with a sequence number never is: until its number
 * is used, it can be mined; afterwards, it has failed or another one of the wallet was.
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
      'a transaction with a sequence number can be mined until the number is used, so it is never dead: a new generation needs proof that the one before failed',
    );
  }
  const untilMs = expiresAtMs(terms, signedAtMs);
  if (nowMs > untilMs) return;
  throw refused(
    'expiry',
    `the transaction that was signed before can be included until ${timeText(untilMs)} by the signer's clock; check the machine's clock if that has passed`,
  );
}
