/**
 * The interface of transports: HTTP (`rpc-http.ts`), or a WebSocket (`websocket.ts`).
 */
import type { Node } from '../chain.ts';

/** A message and the ids that identify its answer. A call has one id, a batch several. */
export type RpcMessage = Readonly<{ text: string; ids: readonly number[] }>;

export type RpcTransport = Readonly<{
  /**
   * Sends the message and returns the bytes of the message that answers it.
   * @throws Fault transient: `node_unreachable`, `node_refused`, `node_timeout` (the signal aborted),
   * `node_response_too_large`, `node_nonsense`, …
   */
  exchange(message: RpcMessage, signal: AbortSignal): Promise<Uint8Array>;
  /** Calls `listener` at each new head and each new connection. Over HTTP it is never called. */
  onChange(listener: () => void): void;
  /** For HTTP see `HttpTransport`. */
  health: Node['health'];
  close(): Promise<void>;
}>;

/**
 * Options of both transports. `host` names the node in messages; `url` may hold credentials and must not appear in any.
 */
export type RpcTransportOptions = Readonly<{
  url: URL;
  host: string;
  requestTimeoutMs: number;
  responseBytesMax: number;
  /** After this long without a sign of life, a WebSocket is dropped and opened again. */
  idleMsMax: number;
  concurrencyMax: number;
  /** For HTTP: added to the message if the node does not answer. */
  advice?: string;
}>;
