/**
 * Judges an endpoint by its answers: whether it is silent or failing, and when its deliveries are sent again.
 */

/**
 * Statuses that end a delivery's schedule, but often come from a firewall, a login page or a deployment rather than
 * from the shop. These deliveries are sent again once the endpoint answers 2xx.
 */
export const refusalStatuses: readonly number[] = [401, 403, 404, 405, 409, 410];
/** Most endpoints of one store, not counting those that single sessions named. */
export const STORE_ENDPOINTS_MAX = 20;
/** Age above which deliveries are not replayed automatically. */
export const REPLAY_AGE_MS_MAX = 30 * 86_400_000;
/** Attempts after which a delivery is not replayed automatically. */
export const REPLAY_ATTEMPTS_MAX = 11;
/** Shortest wait before a later replay. */
const REPLAY_MS_MIN = 1_000;
const REPLAY_AGAIN_MS_MIN = 120_000;

/**
 * Attempts in a row without an answer after which an endpoint gets one delivery at a time, with a pause before it. An
 * endpoint that sessions name starts with this number but no pause, because anybody may name any number of hosts.
 */
export const SILENT_COUNT = 5;
/** The first pause. It doubles with each further attempt without an answer, up to 32 times. */
const PAUSE_MS_MIN = 1_000;

/** Unaccepted events in a row after which an endpoint is switched off. */
const FAILURES_MIN = 10;
/** Shortest time in which they must come. */
const FAILING_MS_MIN = 7 * 86_400_000;
/** Answers 410 in a row after which an endpoint is switched off sooner. */
const GONES_MIN = 3;
/** Shortest time in which they must come, because a firewall or a deployment may give them for minutes. */
const GONE_MS_MIN = 3_600_000;

/** An endpoint's health, judged by its answers. */
export type EndpointHealth = Readonly<{
  /** Start of the time in which no attempt was answered with 2xx; null after a success. */
  failingSinceMs: number | null;
  /** Events in a row whose first attempt was not answered with 2xx. */
  failures: number;
  /** Events in a row whose first attempt was answered with 410. */
  gones: number;
  /** Attempts in a row without any answer. */
  silences: number;
  /** End of the pause in which nothing is sent; 0 for no pause. */
  pausedUntilMs: number;
  /** The time at which it was switched off. */
  disabledAtMs: number | null;
}>;

/** The facts of an attempt that concern the endpoint. `isFirst`: the first of its delivery. */
type Tried = Readonly<{
  isDelivered: boolean;
  /** The answer's HTTP status; null without an answer. */
  status: number | null;
  isFirst: boolean;
  startedAtMs: number;
  durationMs: number;
}>;

/** Returns an endpoint's health after one more attempt. */
export function healthAfter(before: EndpointHealth, tried: Tried): EndpointHealth {
  const { isDelivered, status, isFirst, startedAtMs, durationMs } = tried;
  const nowMs = startedAtMs + durationMs;
  const silences = status === null ? before.silences + 1 : 0;
  const failures = isDelivered ? 0 : before.failures + (isFirst ? 1 : 0);
  const failingSinceMs = isDelivered ? null : (before.failingSinceMs ?? startedAtMs);
  const gones = status === null ? before.gones : status === 410 ? before.gones + (isFirst ? 1 : 0) : 0;
  const failingMs = nowMs - (failingSinceMs ?? nowMs);
  const isOver =
    (failures >= FAILURES_MIN && failingMs >= FAILING_MS_MIN) || (gones >= GONES_MIN && failingMs >= GONE_MS_MIN);
  return {
    failingSinceMs,
    failures,
    gones,
    silences,
    pausedUntilMs: silences < SILENT_COUNT ? 0 : nowMs + PAUSE_MS_MIN * 2 ** Math.min(silences - SILENT_COUNT, 5),
    disabledAtMs: before.disabledAtMs ?? (isOver ? nowMs : null),
  };
}

/**
 * Returns the time at which a refused delivery is sent again. The first wait is short, and later ones double from two
 * minutes on.
 */
export const replayAtMs = (attempts: number, nowMs: number): number =>
  nowMs + (attempts <= 1 ? REPLAY_MS_MIN : REPLAY_AGAIN_MS_MIN * 2 ** (attempts - 2));
