/**
 * The part of the database port about the API's requests: the newest of each store and mode, for its developers.
 * @module
 */
import type { Mode } from '../core/transfer.ts';

/** A request that named a known key. `code` is the error's, null where the request was not refused. */
export type ApiRequest = Readonly<{
  keyId: string;
  requestId: string;
  atMs: number;
  method: string;
  /** Without the query. */
  path: string;
  status: number;
  code: string | null;
  ms: number;
  /** The session that it made or named; null for none. */
  sessionId: string | null;
}>;

/** So many are kept for each store and mode, and each so long. */
export const REQUESTS_KEPT_MAX = 1_000;
export const REQUESTS_AGE_MS_MAX = 7 * 86_400_000;

export type RequestFilter = Readonly<{
  storeId: string;
  mode: Mode;
  /** Only these HTTP statuses, both ends included. */
  statuses: Readonly<{ from: number; to: number }> | null;
  requestId: string | null;
  /** Only requests that made or named this session. */
  sessionId?: string | null;
  beforeId: number | null;
  limit: number;
  nowMs: number;
}>;

export interface RequestLogDatabase {
  /** Saves requests that were answered, the oldest first, and removes those beyond what is kept. */
  saveRequests(requests: readonly ApiRequest[], nowMs: number): Promise<void>;
  /** Returns the requests of a store and mode, the newest first. */
  listRequests(filter: RequestFilter): Promise<readonly (ApiRequest & Readonly<{ id: number; keyHint: string }>)[]>;
}
