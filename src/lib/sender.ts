/**
 * Sends one request to a server that somebody named, and which may be slow, broken or hostile. Whatever it does stays
 * within the limits and never ends this program.
 */

import { errors } from 'undici';
import type { Outcome, SendError } from '../core/delivery.ts';
import { Fault, transient } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { after, type Clock } from './clock.ts';
import { type Connection, createConnections } from './connections.ts';
import { parseTarget, type UrlGuard } from './guard.ts';

/** How much of a response is kept for the operator to read. */
const EXCERPT_BYTES_MAX = 2 * 1024;

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

/** One POST. `end` makes it fail with the reason that is given. */
type UnderWay = { end: (reason: Fault) => void; reason: Fault | null };

/** Creates a sender that keeps connections by host for a few seconds. It keeps no cookies and follows no redirects. */
export function createSender(guard: UrlGuard, limits: SendLimits, clock: Clock): Sender {
  const connections = createConnections(guard, limits.timeoutMs, clock);
  const underWay = new Set<UnderWay>();
  let isStopped = false;

  async function send(post: Post): Promise<Sent | null> {
    const target = parseTarget(post.url, post.mode);
    if (typeof target === 'string') return unanswered('blocked_address', target);
    if (isStopped) return null;
    const one: UnderWay = { end: () => {}, reason: null };
    underWay.add(one);
    const { timeoutMs = limits.timeoutMs } = post;
    const forgetDeadline = after(timeoutMs, () => end(one, transient('timeout', `no answer within ${timeoutMs} ms`)));
    try {
      const kept = connections.reuse(target.origin);
      const sent = kept && (await exchange(kept, target, post, one));
      return sent ?? (await exchange(connections.open(target.origin), target, post, one));
    } catch (error) {
      if (error instanceof Fault && error.code === 'stopped') return null;
      return unanswered(errorClass(error), error instanceof Error ? error.message : String(error));
    } finally {
      forgetDeadline();
      underWay.delete(one);
      if (isStopped) connections.close();
    }
  }

  /** @returns null if the host had closed the connection that was kept, or closes it without a response */
  async function exchange(connection: Connection, target: URL, post: Post, one: UnderWay): Promise<Sent | null> {
    const { client } = connection;
    let isWhole = false;
    try {
      if (one.reason) throw one.reason;
      one.end = (reason) => void client.destroy(reason);
      const answer = await exchangeOn(client, target, post, limits.responseBytesMax);
      const { status, retryAfter } = answer;
      const outcome: Outcome = {
        kind: 'answered',
        status,
        retryAfterMs: typeof retryAfter === 'string' ? retryAfterMs(retryAfter, clock.nowMs()) : null,
      };
      isWhole = answer.isWhole && !one.reason;
      return { outcome, excerpt: answer.excerpt, detail: null };
    } catch (error) {
      if (connection.isReused && !one.reason && errorClass(error) === 'connect') return null;
      throw error;
    } finally {
      if (isWhole) connections.keep(connection);
      else void client.destroy();
    }
  }

  return {
    send,
    abort() {
      isStopped = true;
      for (const one of underWay) end(one, transient('stopped', 'the program is stopping'));
      connections.close();
    },
  };
}

function end(one: UnderWay, reason: Fault): void {
  one.reason ??= reason;
  one.end(one.reason);
}

type Answer = Readonly<{
  status: number;
  retryAfter: string | string[] | undefined;
  excerpt: string | null;
  /** Whether the response was read to its end. */
  isWhole: boolean;
}>;

/**
 * Sends the request and reads the start of the response. Once there is a status it has decided: a body that is too
 * long, too slow or broken changes nothing, and is read up to the limit.
 */
function exchangeOn(client: Connection['client'], target: URL, post: Post, bytesMax: number): Promise<Answer> {
  const { pathname, search } = target;
  const kept: Buffer[] = [];
  let bytes = 0;
  let head: Pick<Answer, 'status' | 'retryAfter'> | null = null;
  return new Promise((resolve, reject) => {
    function finish(isWhole: boolean, error?: Error): void {
      if (head) resolve({ ...head, excerpt: bytes === 0 ? null : Buffer.concat(kept).toString(), isWhole });
      else reject(error);
    }
    client.dispatch(
      {
        method: post.body === null ? 'GET' : 'POST',
        path: pathname + search,
        headers: post.headers(),
        body: post.body,
      },
      {
        onRequestStart() {},
        onResponseStart(_, status, headers) {
          // Interim responses (1xx) come before the one that counts.
          if (status >= 200) head = { status, retryAfter: headers['retry-after'] };
        },
        onResponseData(_, chunk) {
          if (bytes < EXCERPT_BYTES_MAX) kept.push(chunk.subarray(0, EXCERPT_BYTES_MAX - bytes));
          bytes += chunk.length;
          if (bytes >= bytesMax) finish(false);
        },
        onResponseEnd: () => finish(true),
        onResponseError: (_, error) => finish(false, error),
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

function errorClass(error: unknown): SendError {
  if (error instanceof Fault) {
    return error.code === 'dns' || error.code === 'blocked_address' ? error.code : 'timeout';
  }
  if (error instanceof errors.ConnectTimeoutError) return 'timeout';
  if (error instanceof errors.HeadersOverflowError) return 'too_large';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ETIMEDOUT') return 'timeout';
  if (TLS_CODE.test(code)) return 'tls';
  // System errors, and connections closed without a response.
  if (/^E[A-Z]+$/.test(code) || code === 'UND_ERR_SOCKET') return 'connect';
  return 'http';
}
