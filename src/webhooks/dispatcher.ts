/**
 * Sends the deliveries that are due and records the results: claim → send → record.
 *
 * A delivery is leased while it is being sent. If this process dies, the lease runs out and the delivery is due again.
 * An event therefore arrives at least once. Deliveries that cannot start now stay in the database. Only an endpoint
 * that answers quickly is leased several rounds at once, so that its next POST does not wait for a transaction.
 */
import { type Verdict, verdict } from '../core/delivery.ts';
import { invariant } from '../core/fault.ts';
import type { Deliveries } from '../database/database.ts';
import type { Attempt } from '../database/events.ts';
import type { ClaimedDelivery, RecordedAttempt } from '../database/sending.ts';
import type { Clock } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import { createUrlGuard, type UrlGuard } from '../lib/guard.ts';
import type { Log } from '../lib/log.ts';
import { createSender, type Sent } from '../lib/sender.ts';
import { type DoorFormats, webhookFormat } from './format.ts';
import { createRecorder } from './recorder.ts';

/** Most deliveries under way at once, which bounds sockets and memory. */
const IN_FLIGHT_MAX = 512;
/**
 * Most deliveries under way to endpoints that have not answered recently. Deliveries to other endpoints do not wait for
 * them.
 */
const UNPROVEN_MAX = IN_FLIGHT_MAX / 4;
/** Most deliveries in one claim. It is small, so that the share of an endpoint follows the free capacity. */
const CLAIM_MAX = 256;
/** Time of the last answer below which an endpoint is leased several rounds at once. */
const QUICK_MS = 100;
/** The number of these rounds. */
const QUICK_ROUNDS = 8;
/** Longest wait of a delivery for its turn here. After that its lease is released. */
const QUEUED_MS_MAX = 5_000;
const WAKE_POLL_MS = 100;
/** Interval of claims without a wake-up, because deliveries also become due by time. */
const CLAIM_EVERY_MS = 1_000;
/** Part of a lease that is kept for recording the attempt, which may wait for other writes. */
const RECORD_MS_MAX = 15_000;
/** Time for deliveries under way to finish after `stop`. */
const STOP_GRACE_MS = 3_000;

export type Dispatcher = Readonly<{
  /** Claims nothing more and waits for `STOP_GRACE_MS`. An unfinished delivery is sent again after its lease. */
  stop(): Promise<void>;
  /** Notifies the dispatcher that a delivery may be due now. */
  wake(): void;
}>;

/** Leases of one endpoint. `sessions`: the sessions of deliveries that are being sent or recorded. */
type Queue = {
  waiting: ClaimedDelivery[];
  sending: number;
  readonly sessions: Set<string>;
  isUnproven: boolean;
  isQuick: boolean;
};

const leasedOf = ({ waiting, sessions }: Queue): number => waiting.length + sessions.size;

/** Returns whether every waiting delivery waits for an older one of its session. */
const isBlocked = ({ waiting, sessions }: Queue): boolean => waiting.every(({ sessionId }) => sessions.has(sessionId));

/** Takes the oldest delivery whose session has none under way, because a session's deliveries are sent in order. */
function take({ waiting, sessions }: Queue): ClaimedDelivery | undefined {
  const at = waiting.findIndex(({ sessionId }) => !sessions.has(sessionId));
  return at < 0 ? undefined : waiting.splice(at, 1)[0];
}

function attemptOf(
  { id: deliveryId, attempt }: ClaimedDelivery,
  { outcome, excerpt: responseExcerpt }: Sent,
  judged: Verdict['kind'],
  startedAtMs: number,
  nowMs: number,
): Attempt {
  const durationMs = Math.max(0, nowMs - startedAtMs);
  const status = outcome.kind === 'answered' ? outcome.status : null;
  const isRefused = outcome.kind === 'answered' && judged !== 'delivered' && outcome.status < 300;
  const error = outcome.kind === 'unanswered' ? outcome.error : isRefused ? 'not_acknowledged' : null;
  return { deliveryId, attempt, startedAtMs, durationMs, status, error, responseExcerpt };
}

/** Targets that may be called, and the limits of time and attempts. */
export type WebhookSettings = Readonly<{
  allowCidrs: readonly string[];
  timeoutMs: number;
  responseBytesMax: number;
  perEndpointMax: number;
  retryDelaysS: readonly number[];
}>;

export type DispatcherOptions = Readonly<{
  database: Readonly<{ deliveries: Deliveries; changeCount(): number }>;
  config: WebhookSettings;
  /** The formats of doors' notices. */
  doors?: DoorFormats;
  /** The name of this sender; see `lib/holder.ts`. */
  holder: string;
  clock: Clock;
  log: Log;
  guard?: UrlGuard;
  /** A random number in [0, 1) for the jitter of retries. */
  dice?: () => number;
}>;

/** Starts the dispatcher. A broken invariant in it ends the process as an unhandled rejection. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const {
    database,
    config,
    holder,
    clock,
    log,
    guard = createUrlGuard(options.config.allowCidrs),
    dice = Math.random,
  } = options;
  const sender = createSender(guard, config, clock);
  const webhooks = webhookFormat(config.retryDelaysS);
  const leaseMs = config.timeoutMs + QUEUED_MS_MAX + RECORD_MS_MAX;
  const stopping = new AbortController();
  const recorder = createRecorder({ deliveries: database.deliveries, clock, log, onFlush: wake });
  /** Deliveries that are being sent or recorded. */
  const underWay = new Set<Promise<void>>();
  const queues = new Map<string, Queue>();
  let wakeUp = new AbortController();
  let changes = 0;

  async function claimAndSend(): Promise<Round> {
    wakeUp = new AbortController();
    changes = database.changeCount();
    const claimed = await claim();
    for (const delivery of claimed) enqueue(delivery);
    for (const [id, queue] of queues) if (leasedOf(queue) === 0) queues.delete(id);
    return claimed.length > 0 ? 'again' : undefined;
  }

  /** Leases deliveries that can start now. */
  async function claim(): Promise<readonly ClaimedDelivery[]> {
    const free = IN_FLIGHT_MAX - leased();
    if (free <= 0) return [];
    // An endpoint's share shrinks with the free capacity, so that many slow endpoints cannot take it all.
    const perEndpointMax = Math.ceil((config.perEndpointMax * free) / IN_FLIGHT_MAX);
    const places = (id: string, isUnproven: boolean): number => {
      const queue = queues.get(id);
      const most = isUnproven ? 1 : queue?.isQuick ? config.perEndpointMax * QUICK_ROUNDS : perEndpointMax;
      return most - (queue ? leasedOf(queue) : 0);
    };
    const unproven = [...queues.values()].filter(({ isUnproven }) => isUnproven);
    const unprovenMax = Math.max(0, UNPROVEN_MAX - unproven.length);
    const limits = { limit: Math.min(free, CLAIM_MAX), unprovenMax, places };
    return database.deliveries.claim({ holder, nowMs: clock.nowMs(), leaseMs, ...limits });
  }

  function wake(): void {
    // Each call of `abort` makes an error with its stack.
    if (!wakeUp.signal.aborted) wakeUp.abort();
  }

  /** Waits for a wake-up or another connection's commit, but at most `ms`. */
  async function rest(ms: number): Promise<void> {
    let restedMs = 0;
    do {
      await clock.sleep(WAKE_POLL_MS, wakeUp.signal);
      restedMs += WAKE_POLL_MS;
    } while (restedMs < ms && !wakeUp.signal.aborted && database.changeCount() === changes);
  }

  const leased = (): number => [...queues.values()].reduce((sum, queue) => sum + leasedOf(queue), 0);

  function enqueue(delivery: ClaimedDelivery): void {
    const { endpointId, isUnproven } = delivery;
    const known = queues.get(endpointId);
    const queue = known ?? { waiting: [], sending: 0, sessions: new Set<string>(), isUnproven, isQuick: false };
    if (!known) queues.set(endpointId, queue);
    queue.isUnproven = isUnproven;
    queue.waiting.push(delivery);
    void sendNext(queue);
  }

  /** Sends an endpoint's waiting deliveries one after the other, unless enough other calls do so. */
  async function sendNext(queue: Queue): Promise<void> {
    while (queue.sending < config.perEndpointMax) {
      const delivery = take(queue);
      if (!delivery) return;
      if (clock.nowMs() > delivery.leaseUntilMs - leaseMs + QUEUED_MS_MAX) {
        giveBack([delivery]);
        continue;
      }
      queue.sending++;
      queue.sessions.add(delivery.sessionId);
      const sending = deliver(delivery);
      track(finish(queue, delivery, sending));
      const attempt = (await sending)?.attempt;
      queue.sending--;
      queue.isQuick = attempt !== undefined && attempt.status !== null && attempt.durationMs < QUICK_MS;
      // Without an answer, the endpoint is paused, and its other deliveries wait in the database.
      if (attempt?.status === null) giveBack(queue.waiting.splice(0));
    }
  }

  /** Records an attempt. The next delivery of its session is sent only then, because this one may need a retry. */
  async function finish(
    queue: Queue,
    { sessionId }: ClaimedDelivery,
    sending: Promise<RecordedAttempt | null>,
  ): Promise<void> {
    const sent = await sending;
    if (sent) await record(sent);
    queue.sessions.delete(sessionId);
    void sendNext(queue);
  }

  function giveBack(deliveries: readonly ClaimedDelivery[]): void {
    if (deliveries.length > 0) track(database.deliveries.release(deliveries));
  }

  function record(sent: RecordedAttempt): Promise<void> {
    const isRecorded = recorder.add(sent);
    // Flush once there are enough results for a transaction, and no endpoint has other work.
    if (2 * recorder.waiting() >= underWay.size && [...queues.values()].every(isBlocked)) recorder.flush();
    return isRecorded;
  }

  /**
   * Counts work as under way, and claims again once it is done, because capacity or a session's next event is then
   * free.
   */
  function track(work: Promise<unknown>): void {
    const done = work.then(() => {
      underWay.delete(done);
      wake();
    });
    underWay.add(done);
  }

  async function deliver(delivery: ClaimedDelivery): Promise<RecordedAttempt | null> {
    const { id, eventId, attempt, door } = delivery;
    const format = door ? options.doors?.[door.dialect] : webhooks;
    invariant(format, 'the program that sends webhooks brings the formats of doors');
    const startedAtMs = clock.nowMs();
    const sent = await sender.send(format.request(delivery, clock));
    if (sent === null) return null;
    const { outcome, excerpt, detail } = sent;
    const nowMs = clock.nowMs();
    const judged = format.judge(outcome, excerpt);
    const went = attemptOf(delivery, sent, judged, startedAtMs, nowMs);
    const decided = verdict(attempt, outcome, format.retryDelaysS, dice(), nowMs, judged);
    const { kind } = decided;
    const { endpointId, leaseUntilMs } = delivery;
    const line = { deliveryId: id, endpointId, eventId, attempt, status: went.status };
    if (kind === 'delivered') log.info(line, 'webhook delivered');
    else log.warn({ ...line, error: went.error, detail, verdict: kind }, 'webhook not delivered');
    return { endpointId, leaseUntilMs, attempt: went, verdict: decided };
  }

  async function whenIdle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay);
  }

  const running = every(CLAIM_EVERY_MS, claimAndSend, {
    clock,
    log,
    signal: stopping.signal,
    what: 'webhook delivery',
    wait: rest,
  });
  return {
    wake,
    async stop() {
      stopping.abort();
      wake();
      await running;
      for (const { waiting } of queues.values()) giveBack(waiting.splice(0));
      const idle = whenIdle();
      const isDone = new AbortController();
      await Promise.race([idle, clock.sleep(STOP_GRACE_MS, isDone.signal)]);
      isDone.abort();
      sender.abort();
      await idle;
    },
  };
}
