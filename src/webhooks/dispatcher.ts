/**
 * Sends the deliveries that are due and records the results: claim → send → record.
 *
 * A delivery is leased while it is being sent. If this process dies, the lease runs out and the delivery is due again,
 * so an event arrives at least once. Each endpoint has its own queue; what cannot start now stays in the database.
 * @module
 */
import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import { verdict, webhookHeaders } from '../core/delivery.ts';
import { Fault } from '../core/fault.ts';
import type { Attempt, ClaimedDelivery, Database, DeliveryVerdict } from '../database/database.ts';
import type { SenderReport } from '../database/sender-report.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import { createUrlGuard, type UrlGuard } from '../lib/guard.ts';
import type { Log } from '../lib/log.ts';
import { createSender } from './sender.ts';
import { createTally } from './tally.ts';

/** Deliveries under way at once, at most. Bounds sockets and memory. */
const IN_FLIGHT_MAX = 512;
/**
 * Of them, those to endpoints that have not answered lately, and to hosts of single sessions' endpoints that have
 * answered nothing yet. The others wait for none of these, however many dead hosts there are.
 */
const UNPROVEN_MAX = IN_FLIGHT_MAX / 2;
/** Deliveries in one claim, at most. Kept small, so that the share of an endpoint follows the free capacity. */
const CLAIM_MAX = 32;
const WAKE_POLL_MS = 100;
/** How often the database is queried without a wake-up, because deliveries also become due by time. */
const CLAIM_EVERY_MS = 1_000;
/** How long recording an attempt may be retried before its lease runs out. */
const RECORD_MS_MAX = 15_000;
const RECORD_RETRY_MS_MIN = 50;
const RECORD_RETRY_MS_MAX = 2_000;
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

/** The settings of webhooks, which `config/README.md` describes. */
export type WebhookSettings = Readonly<{
  allowCidrs: readonly string[];
  timeoutMs: number;
  responseBytesMax: number;
  perEndpointMax: number;
  retryDelaysS: readonly number[];
}>;

export type DispatcherOptions = Readonly<{
  database: Pick<Database, 'claimDeliveries' | 'recordAttempt' | 'changeCount'>;
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
  const tally = createTally();
  const queues = new Map<string, PQueue>();
  const stopping = new AbortController();
  const abandoning = new AbortController();
  let wakeUp = new AbortController();
  let inFlight = 0;
  let changes = 0;

  async function claimAndSend(): Promise<Round> {
    wakeUp = new AbortController();
    changes = database.changeCount();
    const claimed = await claim();
    for (const delivery of claimed) enqueue(delivery);
    return claimed.length > 0 ? 'again' : undefined;
  }

  /** Leases as many deliveries as can start now. */
  async function claim(): Promise<readonly ClaimedDelivery[]> {
    const free = IN_FLIGHT_MAX - inFlight;
    if (free === 0) return [];
    // The less capacity is free, the less of it one endpoint gets, so that many dead endpoints cannot take it all.
    const perEndpointMax = Math.ceil((config.perEndpointMax * free) / IN_FLIGHT_MAX);
    const leaseMs = config.timeoutMs + RECORD_MS_MAX;
    const limit = Math.min(free, CLAIM_MAX);
    return database.claimDeliveries({
      nowMs: clock.nowMs(),
      leaseMs,
      limit,
      perEndpointMax,
      unprovenMax: UNPROVEN_MAX,
    });
  }

  /** Returns soon after a wake-up or another connection's commit, and in any case after `ms`. */
  async function rest(ms: number): Promise<void> {
    let restedMs = 0;
    do {
      await clock.sleep(WAKE_POLL_MS, wakeUp.signal);
      restedMs += WAKE_POLL_MS;
    } while (restedMs < ms && !wakeUp.signal.aborted && database.changeCount() === changes);
  }

  function enqueue(delivery: ClaimedDelivery): void {
    inFlight++;
    void queueOf(delivery.endpointId).add(async () => {
      await deliver(delivery);
      inFlight--;
      // There is free capacity, and the session's next event can be sent.
      wakeUp.abort();
    });
  }

  function queueOf(endpointId: string): PQueue {
    const known = queues.get(endpointId);
    if (known) return known;
    const queue = new PQueue({ concurrency: config.perEndpointMax });
    queue.on('idle', () => queues.delete(endpointId));
    queues.set(endpointId, queue);
    return queue;
  }

  async function deliver(delivery: ClaimedDelivery): Promise<void> {
    const { id, url, mode, secret, nextSecret, eventId, eventType, body, attempt, trigger } = delivery;
    const startedAtMs = clock.nowMs();
    const signed = { secret, nextSecret, mode, eventId, eventType, body };
    const headers = () => webhookHeaders({ ...signed, timestampS: toSeconds(clock.nowMs()), nonce: randomUUID() });
    const sent = await sender.send({ url, mode, headers, body });
    if (sent === null) return;
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
    tally.count(kind, went.durationMs, attempt === 1 ? startedAtMs - delivery.eventAtMs : null);
    const line = { deliveryId: id, endpointId: delivery.endpointId, eventId, attempt, trigger, status: went.status };
    if (kind === 'delivered') log.info(line, 'webhook delivered');
    else log.warn({ ...line, error: went.error, detail, verdict: kind }, 'webhook not delivered');
    await record(went, decided, delivery.leaseUntilMs);
  }

  /** Records the attempt, and retries while the database is unavailable. After its lease the delivery is sent again. */
  async function record(attempt: Attempt, decided: DeliveryVerdict, leaseUntilMs: number): Promise<void> {
    for (let waitMs = RECORD_RETRY_MS_MIN; ; waitMs = Math.min(2 * waitMs, RECORD_RETRY_MS_MAX)) {
      try {
        return await database.recordAttempt(attempt, decided);
      } catch (error) {
        if (!isTransient(error)) throw error;
        const line = { deliveryId: attempt.deliveryId, code: error.code, error: error.message };
        if (clock.nowMs() + waitMs >= leaseUntilMs || abandoning.signal.aborted) {
          log.error(line, 'could not record a webhook attempt; the delivery will be sent again');
          return;
        }
        log.warn(line, 'could not record a webhook attempt; retrying');
        await clock.sleep(waitMs, abandoning.signal);
      }
    }
  }

  const running = every(CLAIM_EVERY_MS, claimAndSend, {
    clock,
    log,
    signal: stopping.signal,
    what: 'webhook delivery',
    wait: rest,
  });
  return {
    wake: () => wakeUp.abort(),
    state: () => ({ underWay: inFlight, ...tally.read() }),
    async stop() {
      stopping.abort();
      wakeUp.abort();
      await running;
      const idle = Promise.all([...queues.values()].map((queue) => queue.onIdle()));
      const isDone = new AbortController();
      await Promise.race([idle, clock.sleep(STOP_GRACE_MS, isDone.signal)]);
      isDone.abort();
      abandoning.abort();
      sender.abort();
      await idle;
    },
  };
}

const isTransient = (error: unknown): error is Fault => error instanceof Fault && error.kind === 'transient';
