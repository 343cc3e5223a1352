/**
 * Sends one signed POST to a merchant's server, which may be slow, broken or hostile. Whatever it does stays within the
 * limits and never ends this program.
 * @module
 */
import type { Outcome, SendError } from '../core/delivery.ts';
import { Fault, transient } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import type { Clock } from '../lib/clock.ts';
import { parseTarget, type UrlGuard } from '../lib/guard.ts';
import { errors } from '../lib/undici.ts';
import { type Connection, createConnections } from './connections.ts';

/** How much of a response is kept for the operator to read. */
const EXCERPT_BYTES_MAX = 2 * 1024;

export type SendLimits = Readonly<{
  /** Covers everything: name lookup, connection, TLS, request and response. */
  timeoutMs: number;
  /** A response is read up to here, then cut off. */
  responseBytesMax: number;
}>;

/** `headers` makes those of one request: their nonce is used once. */
export type Post = Readonly<{ url: string; mode: Mode; headers: () => Record<string, string>; body: string }>;

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
  const connections = createConnections(guard, limits.timeoutMs);
  const underWay = new Set<AbortController>();
  let isStopped = false;

  async function send(post: Post): Promise<Sent | null> {
    const target = parseTarget(post.url, post.mode);
    if (typeof target === 'string') return unanswered('blocked_address', target);
    if (isStopped) return null;
    const ending = new AbortController();
    const deadline = AbortSignal.timeout(limits.timeoutMs);
    const onTimeout = () => ending.abort(transient('timeout', `no answer within ${limits.timeoutMs} ms`));
    deadline.addEventListener('abort', onTimeout);
    underWay.add(ending);
    try {
      const kept = await endedBy(ending.signal, connections.reuse(target));
      const sent = kept && (await exchange(kept, target, post, ending.signal));
      return sent ?? (await exchange(connections.open(target), target, post, ending.signal));
    } catch (error) {
      if (error instanceof Fault && error.code === 'stopped') return null;
      return unanswered(errorClass(error), error instanceof Error ? error.message : String(error));
    } finally {
      deadline.removeEventListener('abort', onTimeout);
      underWay.delete(ending);
      if (isStopped) connections.close();
    }
  }

  /** @returns null if the host had closed the connection that was kept, or closes it without a response */
  async function exchange(
    connection: Connection,
    { pathname, search }: URL,
    { headers, body }: Post,
    signal: AbortSignal,
  ): Promise<Sent | null> {
    const { client } = connection;
    const onEnd = () => void client.destroy(signal.reason);
    signal.addEventListener('abort', onEnd);
    let isWhole = false;
    try {
      signal.throwIfAborted();
      const answer = await client.request({ method: 'POST', path: pathname + search, headers: headers(), body });
      const retryAfter = answer.headers['retry-after'];
      const outcome: Outcome = {
        kind: 'answered',
        status: answer.statusCode,
        retryAfterMs: typeof retryAfter === 'string' ? retryAfterMs(retryAfter, clock.nowMs()) : null,
      };
      const read = await readExcerpt(answer.body, limits.responseBytesMax);
      isWhole = read.isWhole && !signal.aborted;
      return { outcome, excerpt: read.excerpt, detail: null };
    } catch (error) {
      if (connection.isReused && !signal.aborted && errorClass(error) === 'connect') return null;
      throw error;
    } finally {
      signal.removeEventListener('abort', onEnd);
      if (isWhole) connections.keep(connection);
      else void client.destroy();
    }
  }

  return {
    send,
    abort() {
      isStopped = true;
      for (const ending of underWay) ending.abort(transient('stopped', 'the program is stopping'));
      connections.close();
    },
  };
}

/** Returns what `work` does, unless the signal ends first: then its reason is thrown. */
function endedBy<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, ended]);
}

const unanswered = (error: SendError, detail: string): Sent => ({
  outcome: { kind: 'unanswered', error },
  excerpt: null,
  detail,
});

/**
 * Reads the start of a response. The status has already decided, so a body that is too long, too slow or broken changes
 * nothing: it is read up to the limit, then the connection is closed.
 */
async function readExcerpt(
  body: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<Readonly<{ excerpt: string | null; isWhole: boolean }>> {
  const kept: Buffer[] = [];
  let bytes = 0;
  let isWhole = true;
  try {
    for await (const chunk of body) {
      if (bytes < EXCERPT_BYTES_MAX) kept.push(chunk.subarray(0, EXCERPT_BYTES_MAX - bytes));
      bytes += chunk.length;
      if (bytes < bytesMax) continue;
      isWhole = false;
      break;
    }
  } catch {
    // What was read so far is kept.
    isWhole = false;
  }
  return { excerpt: bytes === 0 ? null : Buffer.concat(kept).toString(), isWhole };
}

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
