/**
 * One HTTP request to a service that the operator named, within limits, behind the guard of webhooks.
 */

import { Client } from 'undici';
import { Fault } from '../core/fault.ts';
import { parseTarget, type UrlGuard } from '../lib/guard.ts';

const TIMEOUT_MS = 20_000;
const ANSWER_BYTES_MAX = 4_096;
const RETRY_AFTER_MS_MAX = 3_600_000;

/** Answer of the service, as far as its start. `status` is null if it gave none; `text` says why then. */
export type Answer = Readonly<{ ok: boolean; status: number | null; text: string; retryAfterMs: number | null }>;

/** `url` may hold a secret: no answer repeats it. Without a body it is a GET. */
export type Outgoing = Readonly<{ url: string; headers?: Readonly<Record<string, string>>; body?: string }>;

export type Send = (request: Outgoing) => Promise<Answer>;

export function createSend(guard: UrlGuard): Send {
  return async ({ url, headers = {}, body }) => {
    // Plain HTTP only to hosts that the operator allows, as for webhooks of test mode.
    const target = parseTarget(url, 'test');
    if (typeof target === 'string') return { ok: false, status: null, text: target, retryAfterMs: null };
    const limits = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, maxHeaderSize: 16_384 };
    const client = new Client(target.origin, { connect: guard.connector(TIMEOUT_MS), pipelining: 1, ...limits });
    try {
      const answer = await client.request({
        method: body === undefined ? 'GET' : 'POST',
        path: target.pathname + target.search,
        headers: { 'User-Agent': 'Quayside', ...headers },
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await readStart(answer.body);
      const { statusCode: status } = answer;
      const afterS = Number(answer.headers['retry-after'] ?? Number.NaN);
      const ok = status >= 200 && status < 300;
      return { ok, status, text, retryAfterMs: afterS >= 0 ? Math.min(afterS * 1000, RETRY_AFTER_MS_MAX) : null };
    } catch (error) {
      return { ok: false, status: null, text: reasonOf(error), retryAfterMs: null };
    } finally {
      void client.destroy();
    }
  };
}

async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    kept.push(chunk);
    bytes += chunk.length;
    if (bytes >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(kept).subarray(0, ANSWER_BYTES_MAX).toString();
}

function reasonOf(error: unknown): string {
  if (error instanceof Fault && error.code === 'blocked_address') {
    return 'its address is not on the public Internet; allow it in webhooks.allow_cidrs';
  }
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`;
  return error instanceof Error ? error.message : String(error);
}
