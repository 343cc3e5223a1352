/**
 * One HTTP request to a service that the operator named, within limits, behind the guard of webhooks.
 */

import type { Clock } from '../lib/clock.ts';
import type { UrlGuard } from '../lib/guard.ts';
import { createSender } from '../lib/sender.ts';

const TIMEOUT_MS = 20_000;
const ANSWER_BYTES_MAX = 4_096;
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Answer of the service, as far as its start. `status` is null if it gave none; `text` says why then. */
export type Answer = Readonly<{ ok: boolean; status: number | null; text: string; retryAfterMs: number | null }>;

/** `url` may hold a secret: no answer repeats it. Without a body it is a GET. */
export type Outgoing = Readonly<{ url: string; headers?: Readonly<Record<string, string>>; body?: string }>;

export type Send = (request: Outgoing) => Promise<Answer>;

export function createSend(guard: UrlGuard, clock: Clock): Send {
  const sender = createSender(guard, { timeoutMs: TIMEOUT_MS, responseBytesMax: ANSWER_BYTES_MAX }, clock);
  return async ({ url, headers = {}, body = null }) => {
    // Plain HTTP only to hosts that the operator allows, as for webhooks of test mode.
    const own = () => ({ 'User-Agent': 'Quayside', ...headers });
    const sent = await sender.send({ url, mode: 'test', headers: own, body });
    if (sent?.outcome.kind !== 'answered')
      return { ok: false, status: null, text: sent?.detail ?? 'no answer', retryAfterMs: null };
    const { status, retryAfterMs } = sent.outcome;
    const waitMs = retryAfterMs === null ? null : Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    return { ok: status >= 200 && status < 300, status, text: sent.excerpt ?? '', retryAfterMs: waitMs };
  };
}
