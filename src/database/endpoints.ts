/** Webhook endpoints: the URLs to which the events of stores, or of single sessions, are sent. */
import type { ExtendedEventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { Replay } from './refunds.ts';

export type Endpoint = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  url: string;
  /** Events beyond the documented ones that it opted in to. */
  extendedEvents: readonly ExtendedEventType[];
  /** True when it serves only the sessions that named it, not the whole store. */
  perSession: boolean;
  disabledAtMs: number | null;
  disabledReason: string | null;
  createdAtMs: number;
}>;

/** Without a secret of its own, the store's secret of the endpoint's mode signs. */
export type NewEndpoint = Endpoint & Readonly<{ secret?: string }>;

/** `other_mode`: the URL already receives events of the other mode, at the endpoint `endpointId`. */
export type EndpointAdded = Readonly<{ kind: 'added' }> | Readonly<{ kind: 'other_mode'; endpointId: string }>;

/**
 * What became of a merchant's request for an endpoint. `replayed`: the same request made it before. `removed`: it did,
 * and the endpoint is gone. `too_many`: the store has `STORE_ENDPOINTS_MAX`.
 */
export type EndpointRequested =
  | Readonly<{ kind: 'added' | 'replayed'; endpoint: Endpoint; secret: string }>
  | Extract<EndpointAdded, { kind: 'other_mode' }>
  | Readonly<{ kind: 'removed' | 'too_many' | 'idempotency_key_conflict' }>;

/** A page of the endpoints of a store. `first`: which of those between the ids come first. */
export type EndpointPaging = Readonly<{
  storeId: string;
  mode: Mode;
  fromId: string;
  beforeId: string;
  first: 'newest' | 'oldest';
  limit: number;
}>;

export interface EndpointDatabase {
  /** Adds an endpoint, unless its URL receives events of the other mode. */
  addEndpoint(input: NewEndpoint): Promise<EndpointAdded>;
  /** Returns the id of a store's endpoint with this URL in the other mode than this one, or null. */
  findEndpointOfOtherMode(input: Readonly<{ storeId: string; mode: Mode; url: string }>): Promise<string | null>;
  /** Adds an endpoint for a request that may be repeated. */
  requestEndpoint(input: NewEndpoint & Readonly<{ secret: string }>, replay: Replay): Promise<EndpointRequested>;
  listEndpoints(storeId: string | null): Promise<readonly Endpoint[]>;
  /** Returns a page of a store's endpoints, without those that single sessions named. */
  pageEndpoints(paging: EndpointPaging): Promise<readonly Endpoint[]>;
  /** Returns an endpoint, also one that was removed. */
  findEndpoint(id: string): Promise<Endpoint | null>;
  enableEndpoint(id: string, enabled: boolean, reason: string | null, nowMs: number): Promise<boolean>;
  /** Changes which events beyond the documented ones an endpoint gets. @returns false when there is no such endpoint */
  setEndpointEvents(id: string, extendedEvents: readonly ExtendedEventType[]): Promise<boolean>;
  removeEndpoint(id: string): Promise<boolean>;
}
