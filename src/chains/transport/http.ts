/** HTTP POST to a node over a few kept-alive connections. There is no push, so the follower polls. */
import { type Dispatcher, Pool } from 'undici';
import { excerpt } from '../../core/excerpt.ts';
import { Fault, transient } from '../../core/fault.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Node } from '../chain.ts';

const EXCERPT_BYTES_MAX = 1_024;
/** Buffer size when the node does not announce the length of its answer. */
const BODY_BYTES_MIN = 64 * 1024;

/** `body` is null if it was longer than the limit for this status. */
type Received = Readonly<{ status: number; body: Uint8Array<ArrayBuffer> | null }>;

/** `host` names the node in messages; `url` may hold credentials and must not appear in any. */
type HttpTransportOptions = Readonly<{
  url: URL;
  host: string;
  requestTimeoutMs: number;
  responseBytesMax: number;
  concurrencyMax: number;
  /** Returns whether a body with a status other than 200 is still the node's own answer. Absent: it never is. */
  isAnswer?: (status: number, body: Uint8Array) => boolean;
  /** Added to the message if the node does not answer. */
  advice?: string;
}>;

export type HttpTransport = Readonly<{
  /**
   * Posts JSON text and returns the answer's bytes in a buffer of their own.
   * @param path with the query, if any
   * @param signal the only time limit after the connection is made
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`,
   * `node_rate_limited`, `node_refused`, `node_error`
   */
  post(path: string, text: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * `connected`: the last request was answered. `connections` counts answers after a failure or on a first connection.
   * When a node is replaced, all connections end, even if no request fails.
   */
  health: Node['health'];
  close(): Promise<void>;
}>;

/** Connects at the first request. */
export function openHttpTransport(options: HttpTransportOptions, clock: Clock): HttpTransport {
  const { url, host } = options;
  const pool = new Pool(url.origin, {
    connections: options.concurrencyMax,
    connect: { timeout: options.requestTimeoutMs },
    // The signal limits the time, so that the fault is our own.
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
   * Sends one request and assembles the answer as it arrives. A stream and an iterator for each would cost more than a
   * short answer does. The body is null if it exceeds the `bytesMax` of its status.
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
      if (status !== 200 && !(body && options.isAnswer?.(status, body))) throw statusFault(status, body);
      if (body) return body;
      throw transient(
        'node_response_too_large',
        `${host} sent an answer of more than ${options.responseBytesMax} bytes, more than any block needs: check that the network's url is a node's`,
      );
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (signal.aborted) {
        throw transient(
          'node_timeout',
          `${host} did not answer within ${options.requestTimeoutMs} ms: is it overloaded?`,
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
      `${host}: ${why}. Is the node up, and its HTTP port open to this machine?${options.advice ? ` ${options.advice}` : ''}`,
      error,
    );
  }

  function statusFault(status: number, body: Uint8Array | null): Fault {
    const text = body ? new TextDecoder().decode(body) : '';
    const said = `${host} answered with HTTP status ${status} "${excerpt(text)}"`;
    if (status === 413) {
      return transient(
        'node_request_too_large',
        `${said}: raise the limit of the node or its gateway for the length of a request`,
      );
    }
    if (/\bbatch/i.test(text)) {
      return transient('node_batch_limited', `${said}: raise the limit of the node or its gateway for batches`);
    }
    if (status === 429)
      return transient('node_rate_limited', `${said}: raise the request limit of the node or its gateway`);
    if (status === 401 || status === 403) return transient('node_refused', `${said}: ${refusedAdvice(text)}`);
    return transient('node_error', `${said}: check the path of the network's url, and look at the node's log`);
  }

  return { post, health: () => ({ connected, heardAtMs, connections }), close: () => pool.destroy() };
}

/** Advice about a node that refuses us. Sources: go-ethereum's `rpc/http.go` and `node/jwt_handler.go`. */
function refusedAdvice(text: string): string {
  if (/invalid host/i.test(text)) {
    return "the node does not expect this host name: add it to the node's --http.vhosts, or use the IP address or ws://";
  }
  if (/missing token/i.test(text)) {
    return "this is the node's engine port, for its consensus client (8551): use its JSON-RPC port (8545)";
  }
  return "check the credentials in the node's URL";
}

/**
 * Collects chunks into one buffer.
 * @param expected the size to allocate at first; if it is right, nothing is copied twice
 */
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
    /** The bytes received, in a buffer of exactly that size. */
    whole: () => (length === bytes.byteLength ? bytes : bytes.slice(0, length)),
  };
}

/**
 * Returns a buffer that is not zeroed. It is not from the pool of small buffers, because it may be transferred to a
 * worker.
 */
function bufferOf(size: number): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = Buffer.allocUnsafeSlow(size);
  return new Uint8Array(buffer, byteOffset, byteLength);
}
