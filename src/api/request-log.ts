/**
 * Keeps what was answered for the developers of each store: collected in memory, and saved together every few seconds,
 * so that no request waits for it.
 * @module
 */
import { Fault } from '../core/fault.ts';
import type { ApiRequest, RequestLogDatabase } from '../database/request-log.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import type { Answered } from './endpoint.ts';

const SAVE_MS = 2_000;
/** More than that between two saves are not kept, the oldest first. */
const COLLECTED_MAX = 2_000;
const PATH_CHARS_MAX = 200;
/** Somebody may have pasted one into a path. */
const SECRETS = /(sk_(?:live|test)_|ss_|whsec_)[^/]+/g;

export type RequestLog = Readonly<{
  add(answered: Answered): void;
  /** Saves what was collected. @throws Fault transient `storage_unavailable`; then it is saved next time */
  save(): Promise<void>;
}>;

export function createRequestLog(
  database: Pick<RequestLogDatabase, 'saveRequests'>,
  clock: Pick<Clock, 'nowMs'>,
): RequestLog {
  let collected: ApiRequest[] = [];
  const keep = (requests: ApiRequest[]) => {
    collected = requests.length > COLLECTED_MAX ? requests.slice(-COLLECTED_MAX) : requests;
  };
  return {
    add({ keyId, requestId, method, path, status, code, ms, sessionId }) {
      if (keyId === null) return;
      const plain = path.replace(SECRETS, '$1…').slice(0, PATH_CHARS_MAX);
      collected.push({ keyId, requestId, atMs: clock.nowMs(), method, path: plain, status, code, ms, sessionId });
      // Cut only when it is twice as long, so that a flood does not copy the list for each request.
      if (collected.length >= 2 * COLLECTED_MAX) keep(collected);
    },
    async save() {
      const batch = collected.slice(-COLLECTED_MAX);
      if (batch.length === 0) return;
      collected = [];
      try {
        await database.saveRequests(batch, clock.nowMs());
      } catch (error) {
        keep([...batch, ...collected]);
        throw error;
      }
    },
  };
}

/** Saves every few seconds until the signal, and once more after it. */
export async function runRequestLog(
  log: RequestLog,
  options: Readonly<{ clock: Clock; log: Log; signal: AbortSignal }>,
): Promise<void> {
  await every(SAVE_MS, log.save, { ...options, what: 'saving API requests' });
  try {
    await log.save();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}
