/**
 * HTTP POST to a node over a few kept-alive connections. There is no push: the follower's own polling is the bell.
 * @module
 */
import { type Dispatcher, Pool } from 'undici';
import { Fault, transient } from '../../core/fault.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Node } from '../chain.ts';
import { excerpt } from '../excerpt.ts';

const EXCERPT_BYTES_MAX = 1_024;
/** What is made room for when the node does not say how long its answer is. */
const BODY_BYTES_MIN = 64 * 1024;

/** A body is null when it was longer than is taken of an answer with this status. */
type Received = Readonly<{ status: number; body: Uint8Array<ArrayBuffer> | null }>;

/** `host` names the node in messages; `url` may hold credentials and must not appear in any. */
export type HttpTransportOptions = Readonly<{
  url: URL;
  host: string;
  requestTimeoutMs: number;
  responseBytesMax: number;
  concurrencyMax: number;
}>;

export type HttpTransport = Readonly<{
  /**
   * Posts JSON text and resolves with the answer's bytes, in a buffer of their own.
   * @param path with the query, if any
   * @param signal the only limit of time once there is a connection
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`, `node_rate_limited`,
   * `node_refused`, `node_error`
   */
  post(path: string, text: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Whether the last request was answered, and how often one was after a failure or on a first connection. A node that is swapped ends
   * all connections, even where no request fails.
   */
  health: Node['health'];
  close(): Promise<void>;
}>;

/** Connects when first asked. */
export function openHttpTransport(options: HttpTransportOptions, clock: Clock): HttpTransport {
  const { url, host } = options;
  const pool = new Pool(url.origin, {
    connections: options.concurrencyMax,
    connect: { timeout: options.requestTimeoutMs },
    // A request ends with its signal, and then it is called by its name.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (url.username || url.password) {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  let connected = false;
  let heardAtMs = 0;
  let connections = 0;
  let open = 0;
  pool.on('connect', () => {
    if (open === 0) connected = false;
    open += 1;
  });
  pool.on('disconnect', () => {
    open -= 1;
  });

  /**
   * One request. Its answer is put together as it arrives: a stream and an iterator of its own would cost more than a short answer does.
   * The body is null when it is longer than `bytesMax` of its status.
   */
  function exchange(path: string, text: string, signal: AbortSignal): Promise<Received> {
    return new Promise((resolve, reject) => {
      let status = 0;
      let bytesMax = 0;
      let body = openBody(0);
      let abort = (_why: Error): void => {};
      const onAbort = () => {
        const why = new Error('aborted');
        abort(why);
        reject(why);
      };
      const settle = () => signal.removeEventListener('abort', onAbort);
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart(controller) {
          abort = (why) => controller.abort(why);
          if (signal.aborted) onAbort();
        },
        onResponseStart(_controller, statusCode, { 'content-length': length }) {
          if (!connected) connections += 1;
          connected = true;
          heardAtMs = clock.nowMs();
          status = statusCode;
          bytesMax = status === 200 ? options.responseBytesMax : EXCERPT_BYTES_MAX;
          body = openBody(Math.min(Number(length ?? BODY_BYTES_MIN), bytesMax));
        },
        onResponseData(controller, chunk) {
          if (body.length() + chunk.byteLength <= bytesMax) return body.add(chunk);
          settle();
          resolve({ status, body: null });
          controller.abort(new Error('too long'));
        },
        onResponseEnd() {
          settle();
          resolve({ status, body: body.whole() });
        },
        onResponseError(_controller, error) {
          settle();
          reject(error);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      else pool.dispatch({ method: 'POST', path, headers, body: text }, handler);
    });
  }

  async function post(path: string, text: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    try {
      const { status, body } = await exchange(path, text, signal);
      if (status !== 200) throw statusFault(status, body);
      if (body) return body;
      throw transient(
        'node_response_too_large',
        `${host} sent an answer of more than ${options.responseBytesMax} bytes: raise the limit, or find out what the node sends`,
      );
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (signal.aborted) {
        throw transient(
          'node_timeout',
          `${host} gave no answer within ${options.requestTimeoutMs} ms: is it overloaded?`,
          error,
        );
      }
      connected = false;
      throw unreachable(error as Error & { code?: string });
    }
  }

  function unreachable(error: Error & { code?: string }): Fault {
    const why = excerpt(error.message || String(error.code));
    return transient(
      'node_unreachable',
      `${host}: ${why}. Is the node up, and its HTTP port open to this machine?`,
      error,
    );
  }

  function statusFault(status: number, body: Uint8Array | null): Fault {
    const text = body ? new TextDecoder().decode(body) : '';
    const said = `${host} answered with HTTP status ${status} "${excerpt(text)}"`;
    if (status === 429)
      return transient('node_rate_limited', `${said}: raise the request limit of the node or its gateway`);
    if (status === 401 || status === 403)
      return transient('node_refused', `${said}: check the credentials in the node's URL`);
    return transient('node_error', `${said}: check the URL's path, and look into the node's own log`);
  }

  return { post, health: () => ({ connected, heardAtMs, connections }), close: () => pool.destroy() };
}

/** Bytes that come in pieces, in one buffer. @param expected so many are made room for at once; when they come, nothing is copied twice */
function openBody(expected: number) {
  let bytes = bufferOf(expected);
  let length = 0;
  return {
    length: () => length,
    add(chunk: Uint8Array): void {
      if (length + chunk.byteLength > bytes.byteLength) {
        const roomier = bufferOf(Math.max(2 * bytes.byteLength, length + chunk.byteLength));
        roomier.set(bytes.subarray(0, length));
        bytes = roomier;
      }
      bytes.set(chunk, length);
      length += chunk.byteLength;
    },
    /** What has come, in a buffer of just that size. */
    whole: () => (length === bytes.byteLength ? bytes : bytes.slice(0, length)),
  };
}

/** Without zeros first, and not out of the pool that small buffers share: the buffer may be given away. */
function bufferOf(size: number): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = Buffer.allocUnsafeSlow(size);
  return new Uint8Array(buffer, byteOffset, byteLength);
}
