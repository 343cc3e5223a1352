/**
 * JSON-RPC by HTTP POST over a few kept-alive connections, for nodes without a WebSocket. There is no push: the follower's own
 * polling is the bell.
 * @module
 */
import { Pool } from 'undici';
import type { Clock } from '../../clock.ts';
import { Fault, transient } from '../../core/fault.ts';
import { excerpt } from './json-rpc.ts';
import type { RpcMessage, RpcTransport, RpcTransportOptions } from './rpc-transport.ts';

const EXCERPT_BYTES_MAX = 1_024;

/** Connects when first asked. */
export function openRpcHttp(options: RpcTransportOptions, clock: Clock): RpcTransport {
  const { url, host } = options;
  const pool = new Pool(url.origin, {
    connections: options.concurrencyMax,
    connect: { timeout: options.requestTimeoutMs },
    headersTimeout: options.requestTimeoutMs,
    bodyTimeout: options.requestTimeoutMs,
  });
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (url.username || url.password) {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  let connected = false;
  let heardAtMs = 0;
  let connections = 0;

  /** The body, as long as it stays within the limit. */
  async function collect(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | null> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) return null;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  }

  async function exchange(message: RpcMessage, signal: AbortSignal): Promise<Uint8Array> {
    try {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers,
        body: message.text,
        signal,
      });
      if (!connected) connections += 1;
      connected = true;
      heardAtMs = clock.nowMs();
      const ok = statusCode === 200;
      const bytes = await collect(body, ok ? options.responseBytesMax : EXCERPT_BYTES_MAX);
      if (!ok) throw statusFault(statusCode, bytes);
      if (!bytes) {
        throw transient(
          'node_response_too_large',
          `${host} sent an answer of more than ${options.responseBytesMax} bytes: raise the limit, or find out what the node sends`,
        );
      }
      return bytes;
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

  function statusFault(status: number, bytes: Buffer | null): Fault {
    const said = `${host} answered with HTTP status ${status} "${excerpt(bytes?.toString() ?? '')}"`;
    if (status === 429)
      return transient('node_rate_limited', `${said}: raise the request limit of the node or its gateway`);
    if (status === 401 || status === 403)
      return transient('node_refused', `${said}: check the credentials in the node's URL`);
    return transient('node_error', `${said}: check the URL's path, and look into the node's own log`);
  }

  return {
    exchange,
    onBell: () => {},
    health: () => ({ connected, heardAtMs, connections }),
    close: () => pool.destroy(),
  };
}
