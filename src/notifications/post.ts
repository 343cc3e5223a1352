/** One HTTP request to a service that the operator named, with limits, behind the guard of webhooks. */

import type { Clock } from '../lib/clock.ts';
import type { UrlGuard } from '../lib/guard.ts';
import { createSender } from '../lib/sender.ts';

const TIMEOUT_MS = 20_000;
const ANSWER_BYTES_MAX = 4_096;
const RETRY_AFTER_MS_MAX = 3_600_000;

/** The beginning of the service's answer. `status` is null without an answer, and `text` is then the reason. */
export type Answer = Readonly<{ ok: boolean; status: number | null; text: string; retryAfterMs: number | null }>;

/** A request, which is a GET without a body. `url` may contain a secret, which no answer repeats. */
export type Outgoing = Readonly<{ url: string; headers?: Readonly<Record<string, string>>; body?: string }>;

export type Send = (request: Outgoing) => Promise<Answer>;

export function createSend(guard: UrlGuard, clock: Clock): Send {
  const sender = createSender(guard, { timeoutMs: TIMEOUT_MS, responseBytesMax: ANSWER_BYTES_MAX }, clock);
  return async ({ url, headers = {}, body = null }) => {
    // Plain HTTP is permitted only to hosts that the operator allows, as for webhooks of test mode.
    const own = () => ({ 'User-Agent': 'Quayside', ...headers });
    const sent = await sender.send({ url, mode: 'test', headers: own, body });
    if (sent?.outcome.kind !== 'answered')
      return { ok: false, status: null, text: sent?.detail ?? 'no answer', retryAfterMs: null };
    const { status, retryAfterMs } = sent.outcome;
    const waitMs = retryAfterMs === null ? null : Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    return { ok: status >= 200 && status < 300, status, text: sent.excerpt ?? '', retryAfterMs: waitMs };
  };
}
