/**
 * Sends one request to a server that somebody named, and which may be slow, broken or hostile. Whatever it does stays
 * within the limits and never ends this program.
 */

import { Agent, type Dispatcher, errors } from 'undici';
import type { Outcome, SendError } from '../core/delivery.ts';
import { Fault, transient } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { after, type Clock } from './clock.ts';
import { parseTarget, type UrlGuard } from './guard.ts';

/** How much of a response is kept for the operator to read. */
const EXCERPT_BYTES_MAX = 2 * 1024;
const RESPONSE_HEADER_BYTES_MAX = 16 * 1024;
/** An idle connection is closed after this time, or sooner if the host says so: most servers close theirs after 5 s. */
const IDLE_MS_MAX = 4_000;
/** A connection is used for this long at most: later its host may have another address. */
const USED_MS_MAX = 60_000;
/** With more connections than these, a further exchange does not keep its own: a session may name any host. */
export const KEPT_MAX = 256;

type SendLimits = Readonly<{
  /** Covers everything: name lookup, connection, TLS, request and response. */
  timeoutMs: number;
  /** A response is read up to here, then cut off. */
  responseBytesMax: number;
}>;

/**
 * A POST, or a GET if `body` is null. `headers` makes those of one request: their nonce is used once. `timeoutMs` may
 * be less than the sender's.
 */
export type Post = Readonly<{
  url: string;
  mode: Mode;
  headers: () => Record<string, string>;
  body: string | null;
  timeoutMs?: number;
}>;

/** The result of a POST: `excerpt` is the first part of the response, `detail` the text of the error for the log. */
export type Sent = Readonly<{ outcome: Outcome; excerpt: string | null; detail: string | null }>;

export type Sender = Readonly<{
  /** @returns null if `abort` ended it before there was a response */
  send(post: Post): Promise<Sent | null>;
  /** Ends every POST that is under way or starts later, and closes what is idle. */
  abort(): void;
}>;

/** Creates a sender that keeps connections by host for a few seconds. It keeps no cookies and follows no redirects. */
export function createSender(guard: UrlGuard, limits: SendLimits, clock: Clock): Sender {
  const agent = new Agent({
    connect: guard.connector(limits.timeoutMs),
    pipelining: 1,
    maxHeaderSize: RESPONSE_HEADER_BYTES_MAX,
    keepAliveTimeout: IDLE_MS_MAX,
    keepAliveMaxTimeout: IDLE_MS_MAX,
    clientTtl: USED_MS_MAX,
    // The deadline covers the whole exchange, however slow.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const underWay = new Set<AbortController>();
  let [isStopped, made, open] = [false, 0, 0];
  agent.on('connect', () => {
    made++;
    open++;
  });
  agent.on('disconnect', () => {
    open--;
  });

  async function send(post: Post): Promise<Sent | null> {
    const target = parseTarget(post.url, post.mode);
    if (typeof target === 'string') return unanswered('blocked_address', target);
    if (isStopped) return null;
    const { timeoutMs = limits.timeoutMs } = post;
    const ending = new AbortController();
    underWay.add(ending);
    const tooLate = transient('timeout', `no answer within ${timeoutMs} ms`);
    const forgetDeadline = after(timeoutMs, () => ending.abort(tooLate));
    const exchangeOnce = () =>
      exchange(agent, target, post, {
        bytesMax: limits.responseBytesMax,
        signal: ending.signal,
        isKept: open < KEPT_MAX,
      });
    const madeBefore = made;
    try {
      const { status, retryAfter, excerpt } = await exchangeOnce().catch((error: unknown) => {
        // A host may just have closed a connection that was kept: nobody has answered, so it is sent on another one.
        if (made > madeBefore || !isClosed(error)) throw error;
        return exchangeOnce();
      });
      const waitMs = typeof retryAfter === 'string' ? retryAfterMs(retryAfter, clock.nowMs()) : null;
      return { outcome: { kind: 'answered', status, retryAfterMs: waitMs }, excerpt, detail: null };
    } catch (error) {
      if (error instanceof Fault && error.code === 'stopped') return null;
      return unanswered(errorClass(error), error instanceof Error ? error.message : String(error));
    } finally {
      forgetDeadline();
      underWay.delete(ending);
    }
  }

  return {
    send,
    abort() {
      isStopped = true;
      for (const ending of underWay) ending.abort(transient('stopped', 'the program is stopping'));
      void agent.destroy();
    },
  };
}

type Answer = Readonly<{ status: number; retryAfter: string | string[] | undefined; excerpt: string | null }>;

/**
 * Sends the request and reads the start of the response. Once there is a status it has decided: a body that is too
 * long, too slow or broken changes nothing, and is read up to the limit.
 * @param limits.signal ends the exchange with its reason
 */
function exchange(
  agent: Agent,
  { origin, pathname, search }: URL,
  post: Post,
  { bytesMax, signal, isKept }: Readonly<{ bytesMax: number; signal: AbortSignal; isKept: boolean }>,
): Promise<Answer> {
  const kept: Buffer[] = [];
  let bytes = 0;
  let head: Omit<Answer, 'excerpt'> | null = null;
  let request: Dispatcher.DispatchController | null = null;
  return new Promise((resolve, reject) => {
    function finish(error?: unknown): void {
      if (head) resolve({ ...head, excerpt: bytes === 0 ? null : Buffer.concat(kept).toString() });
      else reject(error);
    }
    function cut(): void {
      finish(signal.reason);
      request?.abort(signal.reason);
    }
    signal.addEventListener('abort', cut, { once: true });
    agent.dispatch(
      {
        origin,
        method: post.body === null ? 'GET' : 'POST',
        path: pathname + search,
        headers: post.headers(),
        body: post.body,
        reset: !isKept,
      },
      {
        onRequestStart(started) {
          request = started;
          // The deadline may have passed while it was connecting.
          if (signal.aborted) cut();
        },
        onResponseStart(_, status, headers) {
          // Interim responses (1xx) come before the one that counts.
          if (status >= 200) head = { status, retryAfter: headers['retry-after'] };
        },
        onResponseData(reading, chunk) {
          if (bytes < EXCERPT_BYTES_MAX) kept.push(chunk.subarray(0, EXCERPT_BYTES_MAX - bytes));
          bytes += chunk.length;
          if (bytes < bytesMax) return;
          finish();
          reading.abort(new Error('the response is longer than what is read of it'));
        },
        onResponseEnd: () => finish(),
        onResponseError: (_, error) => finish(error),
      },
    );
  });
}

const unanswered = (error: SendError, detail: string): Sent => ({
  outcome: { kind: 'unanswered', error },
  excerpt: null,
  detail,
});

/**
 * Reads a Retry-After header (RFC 9110, 10.2.3): seconds, or a date in one of the forms with GMT.
 * @returns milliseconds, never negative; null if the header is unusable
 */
export function retryAfterMs(header: string, nowMs: number): number | null {
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const atMs = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

/** OpenSSL's certificate errors and Node's TLS errors (nodejs.org/api/tls.html, X509 certificate error codes). */
const TLS_CODE =
  /^ERR_(TLS|SSL)|^EPROTO$|^UNABLE_TO_|CERT|_CRL|^CRL_|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/;

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** Says whether a connection was closed without a response. */
const isClosed = (error: unknown): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));

function errorClass(error: unknown): SendError {
  if (error instanceof Fault) {
    return error.code === 'dns' || error.code === 'blocked_address' ? error.code : 'timeout';
  }
  if (error instanceof errors.ConnectTimeoutError) return 'timeout';
  if (error instanceof errors.HeadersOverflowError) return 'too_large';
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  if (TLS_CODE.test(code)) return 'tls';
  if (/^E[A-Z]+$/.test(code) || isClosed(error)) return 'connect';
  return 'http';
}
