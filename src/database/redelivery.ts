/**
 * What operators see and do when webhooks did not arrive: the health of endpoints, and sending again.
 */
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';

/** How far a recovery has come: the last delivery that it looked at. */
export type RecoveryCursor = Readonly<{ eventId: string; endpointId: string }>;

/** `attempts` counts only automatic attempts. */
export type RecentDelivery = Readonly<{
  id: string;
  eventType: EventType;
  state: 'waiting' | 'delivered' | 'failed';
  attempts: number;
}>;

/** One batch of a recovery. `next` is null after the last one. */
export type RecoveryBatch = Readonly<{ found: number; next: RecoveryCursor | null }>;

/** `after`: how far it has come. `position`: how many were found before, for the pace. */
export type RecoveryStep = Readonly<{ after: RecoveryCursor; position: number; nowMs: number; isDryRun: boolean }>;

export type EndpointHealth = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  url: string;
  createdAtMs: number;
  disabledAtMs: number | null;
  disabledReason: string | null;
  /** Since when it has accepted nothing although it was tried; null if its last answer was 2xx. */
  failingSinceMs: number | null;
  /** Since when nothing is sent to it by itself, because no session named it for long. */
  retiredAtMs: number | null;
  /** Deliveries that wait, counted up to `WAITING_COUNTED_MAX`. */
  waiting: number;
  /** Its deliveries among the store's newest `RECENT_EVENTS` events of its mode, newest first. */
  recent: readonly RecentDelivery[];
}>;

/** What an endpoint did of late. */
export type EndpointActivity = Readonly<{
  /** The newest event that it accepted, and when it did so last; null if none, or if that is not kept any more. */
  accepted: Readonly<{ deliveryId: string; eventType: EventType; atMs: number }> | null;
  /** Its deliveries of the events since a time, of the store's newest `ACTIVITY_EVENTS_MAX` in its mode, by state. */
  counts: Readonly<Record<'waiting' | 'delivered' | 'failed', number>>;
  /** Whether there were more events in that time. */
  hasMore: boolean;
}>;

/** More events are not counted. */
export const ACTIVITY_EVENTS_MAX = 5_000;
export const WAITING_COUNTED_MAX = 10_000;
export const RECENT_EVENTS = 500;
/** More deliveries that failed for good are not counted. */
export const FAILED_COUNTED_MAX = 1_000;

/** More endpoints of single sessions are not looked at for a store's undelivered deliveries. */
export const ONE_OFFS_LOOKED_MAX = 200;

/** Deliveries of a store's endpoints that did not arrive: they wait, or failed for good. Counted up to a limit each. */
export type Undelivered = Readonly<{ waiting: number; failed: number }>;

/** Hosts that are listed when they accept nothing. */
export const UNANSWERED_MAX = 11;

/** What is wrong with sending: over all standing endpoints, and hosts of single sessions' ones. */
export type WebhookTrouble = Readonly<{
  /** Enabled ones that have accepted nothing since a time. */
  failing: readonly Readonly<{ id: string; url: string; sinceMs: number }>[];
  disabled: readonly Readonly<{ id: string; url: string; reason: string | null }>[];
  /** When the first delivery that can be sent now became due, endpoints that do not answer left out; null for none. */
  dueSinceMs: number | null;
  /** Hosts of single sessions' endpoints that have accepted nothing since a time: the first `UNANSWERED_MAX`. */
  unanswered: readonly Readonly<{ host: string; sinceMs: number }>[];
  /** Deliveries that failed for good, of events since `sinceMs`, counted up to `FAILED_COUNTED_MAX`. */
  failed: number;
}>;

export interface RedeliveryDatabase {
  /** Makes every delivery of an event due at once, in any state. @returns their ids; null for an unknown event */
  resendEvent(eventId: string, nowMs: number): Promise<readonly string[] | null>;
  /**
   * Looks at the next deliveries after a cursor, by event, and sends those that failed or wait after a failure again,
   * with a new schedule. The first attempts are `RECOVERY_PACE_MS` apart.
   * @param step `endpointId` null: of every endpoint
   */
  recoverSome(step: RecoveryStep & Readonly<{ endpointId: string | null }>): Promise<RecoveryBatch>;
  /**
   * Looks at the next events of the endpoint's store and mode after a cursor, and sends it those of its types that it
   * never had, such as those from before it was added. The first attempts are `RECOVERY_PACE_MS` apart.
   * @returns null if there is no such endpoint, or if only sessions that named its URL send it their events
   */
  sendMissingSome(step: RecoveryStep & Readonly<{ endpointId: string }>): Promise<RecoveryBatch | null>;
  /** @returns null when there is no such endpoint */
  endpointHealth(id: string): Promise<EndpointHealth | null>;
  /** @returns null when there is no such endpoint */
  endpointActivity(id: string, sinceMs: number): Promise<EndpointActivity | null>;
  /**
   * Retires endpoints that single sessions named and that had no event for so long: nothing is sent to them by itself,
   * and they are not listed, until a session that names the URL has an event. @returns how many
   */
  retireEndpoints(nowMs: number, idleMs: number): Promise<number>;
  /**
   * Counts what did not arrive at a store's endpoints in one mode: what waits, and what failed of the events since a
   * time, each up to `limit`. Of endpoints that single sessions named, `ONE_OFFS_LOOKED_MAX` are looked at.
   */
  countUndelivered(at: Readonly<{ storeId: string; mode: Mode }>, sinceMs: number, limit: number): Promise<Undelivered>;
  webhookTrouble(nowMs: number, sinceMs: number): Promise<WebhookTrouble>;
}

/** Between the first attempts of a recovery, so that a shop that works again is not flooded. */
export const RECOVERY_PACE_MS = 100;
