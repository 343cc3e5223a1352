/**
 * HTTP POST to a node over a few kept-alive connections. There is no push: the follower's own polling is the bell.
 * @module
 */
import { Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { Fault, transient } from '../core/fault.ts';
import type { Node } from './chain.ts';
import { excerpt } from './excerpt.ts';

const EXCERPT_BYTES_MAX = 1_024;

/** `host` names the node in messages; `url` may hold credentials and must not appear in any. */
export type HttpRoadOptions = Readonly<{
  url: URL;
  host: string;
  requestTimeoutMs: number;
  responseBytesMax: number;
  concurrencyMax: number;
}>;

export type HttpRoad = Readonly<{
  /**
   * Posts JSON text and resolves with the answer's bytes, as the pieces in which they came.
   * @param path with the query, if any
   * @param signal the only limit of time once there is a connection
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`, `node_rate_limited`,
   * `node_refused`, `node_error`
   */
  post(path: string, text: string, signal: AbortSignal): Promise<readonly Buffer[]>;
  /** Whether the last request was answered, and how often a connection was made when there was none: a node that is swapped ends them all. */
  health: Node['health'];
  close(): Promise<void>;
}>;

/** Connects when first asked. */
export function openHttpRoad(options: HttpRoadOptions, clock: Clock): HttpRoad {
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
    if (open === 0) connections += 1;
    open += 1;
  });
  pool.on('disconnect', () => {
    open -= 1;
  });

  /** The body, as long as it stays within the limit. */
  async function collect(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer[] | null> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) return null;
      chunks.push(chunk);
    }
    return chunks;
  }

  async function post(path: string, text: string, signal: AbortSignal): Promise<readonly Buffer[]> {
    try {
      const { statusCode, body } = await pool.request({ method: 'POST', path, headers, body: text, signal });
      connected = true;
      heardAtMs = clock.nowMs();
      const ok = statusCode === 200;
      const chunks = await collect(body, ok ? options.responseBytesMax : EXCERPT_BYTES_MAX);
      if (!ok) throw statusFault(statusCode, chunks);
      if (!chunks) {
        throw transient(
          'node_response_too_large',
          `${host} sent an answer of more than ${options.responseBytesMax} bytes: raise the limit, or find out what the node sends`,
        );
      }
      return chunks;
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

  function statusFault(status: number, chunks: readonly Buffer[] | null): Fault {
    const text = chunks ? Buffer.concat(chunks).toString() : '';
    const said = `${host} answered with HTTP status ${status} "${excerpt(text)}"`;
    if (status === 429)
      return transient('node_rate_limited', `${said}: raise the request limit of the node or its gateway`);
    if (status === 401 || status === 403)
      return transient('node_refused', `${said}: check the credentials in the node's URL`);
    return transient('node_error', `${said}: check the URL's path, and look into the node's own log`);
  }

  return { post, health: () => ({ connected, heardAtMs, connections }), close: () => pool.destroy() };
}
