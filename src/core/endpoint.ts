/**
 * What answers to webhooks say about the endpoint: when it is gone, and what is sent again once it works.
 * @module
 */

/**
 * Statuses that end a delivery's schedule, but often come from a firewall, a login page or a deployment rather than
 * from the shop. Such deliveries are sent again once the endpoint answers 2xx to something newer.
 */
export const refusalStatuses: readonly number[] = [401, 403, 404, 405, 409, 410];
/** Endpoints of one store, those that single sessions named not counted. */
export const STORE_ENDPOINTS_MAX = 20;
/** Deliveries older than this are not sent again by themselves. */
export const REPLAY_AGE_MS_MAX = 30 * 86_400_000;
/** A delivery that was tried this often is not sent again by itself. */
export const REPLAY_ATTEMPTS_MAX = 11;
const REPLAY_MS_MIN = 1_000;
const REPLAY_AGAIN_MS_MIN = 120_000;

/** An endpoint is disabled after this many answers 410 without another answer in between … */
const GONE_COUNT_MIN = 3;
/** … over at least this time. */
const GONE_MS_MIN = 3_600_000;

/** An endpoint that did not answer this many attempts in a row gets one delivery at a time, with a pause before it. */
export const SILENT_COUNT = 5;
/** The first pause; it doubles with each further attempt without an answer, up to 32 times. */
const PAUSE_MS_MIN = 1_000;

/** An endpoint is switched off once it has not accepted this many events in a row, over at least this time. */
const FAILURES_MIN = 10;
const FAILING_MS_MIN = 7 * 86_400_000;

/** Returns the end of the pause after this many attempts without an answer; 0 for none. */
export const pausedUntilMs = (silences: number, nowMs: number): number =>
  silences < SILENT_COUNT ? 0 : nowMs + PAUSE_MS_MIN * 2 ** Math.min(silences - SILENT_COUNT, 5);

/** Returns whether an endpoint has failed for so long that it is switched off. */
export const isSwitchedOff = (failures: number, failingSinceMs: number | null, nowMs: number): boolean =>
  failures >= FAILURES_MIN && failingSinceMs !== null && nowMs - failingSinceMs >= FAILING_MS_MIN;

/** Answers 410 in a row. `sinceMs` is null when there is none. */
type Gone = Readonly<{ count: number; sinceMs: number | null }>;

/** Returns the row of 410s after an attempt. No answer, or the same event's 410 again, changes nothing. */
export function goneAfter(gone: Gone, status: number | null, statusBefore: number | null, nowMs: number): Gone {
  if (status === null || (status === 410 && statusBefore === 410)) return gone;
  if (status !== 410) return { count: 0, sinceMs: null };
  return { count: gone.count + 1, sinceMs: gone.sinceMs ?? nowMs };
}

/** Returns whether these 410s say that the endpoint is gone, rather than that something answered for it. */
export const isGone = ({ count, sinceMs }: Gone, nowMs: number): boolean =>
  count >= GONE_COUNT_MIN && sinceMs !== null && nowMs - sinceMs >= GONE_MS_MIN;

/** Returns when a refused delivery is sent again: soon the first time, then with doubling waits from two minutes on. */
export const replayAtMs = (attempts: number, nowMs: number): number =>
  nowMs + (attempts <= 1 ? REPLAY_MS_MIN : REPLAY_AGAIN_MS_MIN * 2 ** (attempts - 2));
