/**
 * Judges an endpoint by its answers: whether it is gone, silent or failing, and when its deliveries are sent again.
 */

/**
 * Statuses that end a delivery's schedule, but often come from a firewall, a login page or a deployment rather than
 * from the shop. These deliveries are sent again once the endpoint answers 2xx to something newer.
 */
export const refusalStatuses: readonly number[] = [401, 403, 404, 405, 409, 410];
/** Endpoints of one store, without those that single sessions named. */
export const STORE_ENDPOINTS_MAX = 20;
/** Age above which deliveries are not replayed automatically. */
export const REPLAY_AGE_MS_MAX = 30 * 86_400_000;
/** Attempts after which a delivery is not replayed automatically. */
export const REPLAY_ATTEMPTS_MAX = 11;
const REPLAY_MS_MIN = 1_000;
const REPLAY_AGAIN_MS_MIN = 120_000;

/** Answers 410 in a row, without another answer in between, that prove an endpoint gone. */
const GONE_COUNT_MIN = 3;
/** Time over which the answers 410 must be spread. */
const GONE_MS_MIN = 3_600_000;

/** Attempts in a row without an answer after which an endpoint gets one delivery at a time, with a pause before it. */
export const SILENT_COUNT = 5;
/** The first pause. It doubles with each further attempt without an answer, up to 32 times. */
const PAUSE_MS_MIN = 1_000;

/**
 * An endpoint is switched off after this many events in a row that it has not accepted, over at least the time below.
 */
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

/** Returns the count of 410s after an attempt. No answer, or the same event's 410 again, changes nothing. */
export function goneAfter(gone: Gone, status: number | null, statusBefore: number | null, nowMs: number): Gone {
  if (status === null || (status === 410 && statusBefore === 410)) return gone;
  if (status !== 410) return { count: 0, sinceMs: null };
  return { count: gone.count + 1, sinceMs: gone.sinceMs ?? nowMs };
}

/** Returns whether these 410s prove that the endpoint is gone, and not that something else answered for it. */
export const isGone = ({ count, sinceMs }: Gone, nowMs: number): boolean =>
  count >= GONE_COUNT_MIN && sinceMs !== null && nowMs - sinceMs >= GONE_MS_MIN;

/** Returns when a refused delivery is sent again: soon the first time, then with doubling waits from two minutes on. */
export const replayAtMs = (attempts: number, nowMs: number): number =>
  nowMs + (attempts <= 1 ? REPLAY_MS_MIN : REPLAY_AGAIN_MS_MIN * 2 ** (attempts - 2));
