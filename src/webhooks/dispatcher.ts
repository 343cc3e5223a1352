/**
 * Takes deliveries that are due out of the store, sends them and records how it went: claim → send → record.
 *
 * A delivery is leased while it is being sent. Whatever happens to this process, a lease runs out and the delivery is due again, so an
 * event arrives at least once. Each endpoint has a queue of its own, and what cannot start at once is left in the store.
 * @module
 */
import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import { verdict, webhookHeaders } from '../core/delivery.ts';
import { Fault } from '../core/fault.ts';
import type { Attempt, ClaimedDelivery, Database, DeliveryVerdict } from '../database/database.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import { createUrlGuard, type UrlGuard } from '../lib/guard.ts';
import type { Log } from '../lib/log.ts';
import { createSender } from './sender.ts';

/** Bounds sockets and memory: so many deliveries are under way at most. */
const IN_FLIGHT_MAX = 512;
/** So few at a time, so that the share of an endpoint follows the places that are left. */
const CLAIM_MAX = 32;
const BELL_POLL_MS = 100;
/** The store is asked at least this often: deliveries fall due without a bell. */
const CLAIM_EVERY_MS = 1_000;
/** How long an attempt may wait to be recorded before its lease runs out. */
const RECORD_MS_MAX = 15_000;
const RECORD_RETRY_MS_MIN = 50;
const RECORD_RETRY_MS_MAX = 2_000;
/** What is under way may take so long to finish after `stop`. */
const STOP_GRACE_MS = 3_000;

export type Dispatcher = Readonly<{
  /** Takes no more, lets what is under way finish within three seconds, and drops the rest: it is sent again after its lease. */
  stop(): Promise<void>;
  /** Says that something may be due now. */
  wake(): void;
}>;

/** Limits of sending; what each means is in `config/README.md`. */
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

/** Starts delivering. A broken invariant in it ends the process as an unhandled rejection. */
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
  const queues = new Map<string, PQueue>();
  const stopping = new AbortController();
  const abandoning = new AbortController();
  let bell = new AbortController();
  let inFlight = 0;
  let changes = 0;

  async function claimAndSend(): Promise<Round> {
    bell = new AbortController();
    changes = database.changeCount();
    const claimed = await claim();
    for (const delivery of claimed) enqueue(delivery);
    return claimed.length > 0 ? 'again' : undefined;
  }

  /** Leases as much as can be started at once. */
  async function claim(): Promise<readonly ClaimedDelivery[]> {
    const free = IN_FLIGHT_MAX - inFlight;
    if (free === 0) return [];
    // The fewer places are left, the fewer an endpoint may fill: many dead endpoints cannot take them all.
    const perEndpointMax = Math.ceil((config.perEndpointMax * free) / IN_FLIGHT_MAX);
    const leaseMs = config.timeoutMs + RECORD_MS_MAX;
    const limit = Math.min(free, CLAIM_MAX);
    return database.claimDeliveries({ nowMs: clock.nowMs(), leaseMs, limit, perEndpointMax });
  }

  /** Returns soon after a bell or another connection's commit, and in any case after `ms`. */
  async function rest(ms: number): Promise<void> {
    let restedMs = 0;
    do {
      await clock.sleep(BELL_POLL_MS, bell.signal);
      restedMs += BELL_POLL_MS;
    } while (restedMs < ms && !bell.signal.aborted && database.changeCount() === changes);
  }

  function enqueue(delivery: ClaimedDelivery): void {
    inFlight++;
    void queueOf(delivery.endpointId).add(async () => {
      await deliver(delivery);
      inFlight--;
      // Its place is free, and the session's next event may go.
      bell.abort();
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
    const { id, url, mode, secret, eventId, eventType, body, attempt, trigger } = delivery;
    const startedAtMs = clock.nowMs();
    const stamp = { timestampS: toSeconds(startedAtMs), nonce: randomUUID() };
    const headers = webhookHeaders({ secret, eventId, eventType, body, ...stamp });
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
    const line = { deliveryId: id, endpointId: delivery.endpointId, eventId, attempt, trigger, status: went.status };
    if (kind === 'delivered') log.info(line, 'webhook delivered');
    else log.warn({ ...line, error: went.error, detail, verdict: kind }, 'webhook not delivered');
    await record(went, decided, delivery.leaseUntilMs);
  }

  /** Writes the attempt down, again and again while the store is out of order; after the lease the delivery is sent anew instead. */
  async function record(attempt: Attempt, decided: DeliveryVerdict, leaseUntilMs: number): Promise<void> {
    for (let waitMs = RECORD_RETRY_MS_MIN; ; waitMs = Math.min(2 * waitMs, RECORD_RETRY_MS_MAX)) {
      try {
        return await database.recordAttempt(attempt, decided);
      } catch (error) {
        if (!isTransient(error)) throw error;
        const line = { deliveryId: attempt.deliveryId, code: error.code, error: error.message };
        if (clock.nowMs() + waitMs >= leaseUntilMs || abandoning.signal.aborted) {
          log.error(line, 'a webhook attempt could not be recorded; the delivery will be sent again');
          return;
        }
        log.warn(line, 'recording a webhook attempt is tried again');
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
    wake: () => bell.abort(),
    async stop() {
      stopping.abort();
      bell.abort();
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
