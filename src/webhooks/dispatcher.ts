/**
 * Sends the deliveries that are due and records the results: claim → send → record.
 *
 * A delivery is leased while it is being sent. If this process dies, the lease runs out and the delivery is due again,
 * so an event arrives at least once. What cannot start now stays in the database. Only an endpoint that answers quickly
 * is leased several rounds at once, so that its next POST does not wait for a transaction.
 */
import { randomUUID } from 'node:crypto';
import { stampedHeaders, stampWebhook, verdict, type WebhookStamp } from '../core/delivery.ts';
import type { Attempt, RecordedAttempt } from '../database/attempts.ts';
import type { ClaimedDelivery } from '../database/claims.ts';
import type { Database } from '../database/database.ts';
import type { SenderReport } from '../database/sender-report.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import { createUrlGuard, type UrlGuard } from '../lib/guard.ts';
import type { Log } from '../lib/log.ts';
import { createRecorder } from './recorder.ts';
import { createSender } from './sender.ts';

/** Deliveries under way at once, at most. Bounds sockets and memory. */
const IN_FLIGHT_MAX = 512;
/** Of them, those to endpoints that do not answer, and as many to URLs of single sessions. The others wait for none. */
const UNPROVEN_MAX = IN_FLIGHT_MAX / 4;
/** Deliveries in one claim, at most. Kept small, so that the share of an endpoint follows the free capacity. */
const CLAIM_MAX = 256;
/** An endpoint whose last answer took less is leased several rounds at once. */
const QUICK_MS = 100;
/** Deliveries that wait for their turn in this process, about. */
const QUEUED_MAX = 512;
/** How long one may wait here. After that it is left to the end of its lease. */
const QUEUED_MS_MAX = 5_000;
const WAKE_POLL_MS = 100;
/** How often the database is queried without a wake-up, because deliveries also become due by time. */
const CLAIM_EVERY_MS = 1_000;
/** How long recording an attempt may be retried before its lease runs out. */
const RECORD_MS_MAX = 15_000;
/** How long deliveries under way may take to finish after `stop`. */
const STOP_GRACE_MS = 3_000;

export type Dispatcher = Readonly<{
  /** Claims nothing more and waits up to three seconds. What is not finished by then is sent again after its lease. */
  stop(): Promise<void>;
  /** Notifies the dispatcher that a delivery may be due now. */
  wake(): void;
  /** Returns what is under way, and counts since the start. */
  state(): Omit<SenderReport, 'pid' | 'startedAtMs' | 'atMs'>;
}>;

/** Deliveries to one endpoint that are leased and not sent yet, and how many are being sent. */
type Queue = { readonly waiting: ClaimedDelivery[]; sending: number; isQuick: boolean };

/** Targets that may be called, and the limits of time and attempts. */
export type WebhookSettings = Readonly<{
  allowCidrs: readonly string[];
  timeoutMs: number;
  responseBytesMax: number;
  perEndpointMax: number;
  retryDelaysS: readonly number[];
}>;

export type DispatcherOptions = Readonly<{
  database: Pick<Database, 'sending' | 'changeCount'>;
  config: WebhookSettings;
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
    clock,
    log,
    guard = createUrlGuard(options.config.allowCidrs),
    dice = Math.random,
  } = options;
  const sender = createSender(guard, config, clock);
  const attempts = { delivered: 0, retry: 0, failed: 0 };
  const leaseMs = config.timeoutMs + QUEUED_MS_MAX + RECORD_MS_MAX;
  const stopping = new AbortController();
  const abandoning = new AbortController();
  const recorder = createRecorder({ database, clock, log, signal: abandoning.signal, onFlush });
  /** Deliveries that are being sent or recorded. */
  const underWay = new Set<Promise<void>>();
  const queues = new Map<string, Queue>();
  let wakeUp = new AbortController();
  let changes = 0;
  /** Whether results are recorded in this turn of the event loop, so that a claim can be committed with them. */
  let isRecording = false;

  async function claimAndSend(): Promise<Round> {
    wakeUp = new AbortController();
    changes = database.changeCount();
    const claimed = await claim();
    for (const delivery of claimed) enqueue(delivery);
    for (const [id, { sending, waiting }] of queues) if (sending + waiting.length === 0) queues.delete(id);
    return claimed.length > 0 ? 'again' : undefined;
  }

  /** Leases what can start now. */
  async function claim(): Promise<readonly ClaimedDelivery[]> {
    const free = IN_FLIGHT_MAX - underWay.size;
    if (free <= 0) return [];
    // The less capacity is free, the less of it one endpoint gets, so that many dead endpoints cannot take it all.
    const perEndpointMax = Math.ceil((config.perEndpointMax * free) / IN_FLIGHT_MAX);
    const quick = queued() < QUEUED_MAX ? [...queues].flatMap(([id, { isQuick }]) => (isQuick ? [id] : [])) : [];
    const limits = {
      limit: Math.min(free, CLAIM_MAX),
      perEndpointMax,
      unprovenMax: UNPROVEN_MAX,
      quick: new Set(quick),
    };
    const isWithRecording = isRecording;
    isRecording = false;
    return database.sending.claim({ nowMs: clock.nowMs(), leaseMs, isWithRecording, ...limits });
  }

  function onFlush(): void {
    isRecording = !stopping.signal.aborted;
    wake();
  }

  function wake(): void {
    // Each call of `abort` makes an error with its stack.
    if (!wakeUp.signal.aborted) wakeUp.abort();
  }

  /** Returns soon after a wake-up or another connection's commit, and in any case after `ms`. */
  async function rest(ms: number): Promise<void> {
    let restedMs = 0;
    do {
      await clock.sleep(WAKE_POLL_MS, wakeUp.signal);
      restedMs += WAKE_POLL_MS;
    } while (restedMs < ms && !wakeUp.signal.aborted && database.changeCount() === changes);
  }

  const queued = (): number => [...queues.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);

  function enqueue(delivery: ClaimedDelivery): void {
    const queue = queues.get(delivery.endpointId) ?? { waiting: [], sending: 0, isQuick: false };
    queues.set(delivery.endpointId, queue);
    queue.waiting.push(delivery);
    void sendNext(queue);
  }

  /** Sends what waits for an endpoint, one after the other, unless enough others do. */
  async function sendNext(queue: Queue): Promise<void> {
    while (queue.sending < config.perEndpointMax) {
      const delivery = queue.waiting.shift();
      if (!delivery) return;
      if (clock.nowMs() > delivery.leaseUntilMs - leaseMs + QUEUED_MS_MAX) continue;
      queue.sending++;
      const sending = deliver(delivery);
      track(sending.then((sent) => sent && record(sent, delivery.leaseUntilMs)));
      const attempt = (await sending)?.attempt;
      queue.sending--;
      queue.isQuick = attempt !== undefined && attempt.status !== null && attempt.durationMs < QUICK_MS;
      // The endpoint's pause decides when the others are tried, and their leases end.
      if (attempt?.status === null) queue.waiting.length = 0;
    }
  }

  function record(sent: RecordedAttempt, leaseUntilMs: number): Promise<void> {
    const isRecorded = recorder.add(sent, leaseUntilMs);
    // When it is worth a transaction, and endpoints have nothing to do meanwhile.
    if (2 * recorder.waiting() >= underWay.size && queued() === 0) recorder.flush();
    return isRecorded;
  }

  /** Counts work as under way, and claims again once it is done: there is free capacity, or a session's next event. */
  function track(work: Promise<unknown>): void {
    const done = work.then(() => {
      underWay.delete(done);
      wake();
    });
    underWay.add(done);
  }

  async function deliver(delivery: ClaimedDelivery): Promise<RecordedAttempt | null> {
    const { id, url, mode, secret, nextSecret, eventId, eventType, body, attempt, trigger } = delivery;
    const startedAtMs = clock.nowMs();
    const signed = { secret, nextSecret, mode, eventId, eventType, body };
    let stamp: WebhookStamp | null = null;
    const headers = () => {
      stamp = stampWebhook({ ...signed, timestampS: toSeconds(clock.nowMs()), nonce: randomUUID() });
      return stampedHeaders(signed, stamp);
    };
    const sent = await sender.send({ url, mode, headers, body });
    if (sent === null) return null;
    const { outcome, excerpt, detail } = sent;
    const nowMs = clock.nowMs();
    const went: Attempt = {
      deliveryId: id,
      attempt,
      trigger,
      startedAtMs,
      durationMs: Math.max(0, nowMs - startedAtMs),
      status: outcome.kind === 'answered' ? outcome.status : null,
      error: outcome.kind === 'unanswered' ? outcome.error : null,
      responseExcerpt: excerpt,
    };
    const decided = verdict(attempt, outcome, config.retryDelaysS, dice(), nowMs);
    const { kind } = decided;
    attempts[kind] += 1;
    const line = { deliveryId: id, endpointId: delivery.endpointId, eventId, attempt, trigger, status: went.status };
    if (kind === 'delivered') log.info(line, 'webhook delivered');
    else log.warn({ ...line, error: went.error, detail, verdict: kind }, 'webhook not delivered');
    return { attempt: went, verdict: decided, stamp };
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
    state: () => ({ underWay: underWay.size + queued(), attempts: { ...attempts } }),
    async stop() {
      stopping.abort();
      wake();
      await running;
      queues.clear();
      const idle = whenIdle();
      const isDone = new AbortController();
      await Promise.race([idle, clock.sleep(STOP_GRACE_MS, isDone.signal)]);
      isDone.abort();
      abandoning.abort();
      sender.abort();
      await idle;
    },
  };
}
