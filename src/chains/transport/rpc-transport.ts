/**
 * What a transport to a node offers, whatever it is made of. Here are plain requests, `rpc-http.ts`; a family that is spoken to over a WebSocket brings its own.
 * @module
 */
import type { Node } from '../chain.ts';

/** A JSON-RPC message and the ids that its answer may be known by: one for a call, several for a batch. */
export type RpcMessage = Readonly<{ text: string; ids: readonly number[] }>;

export type RpcTransport = Readonly<{
  /**
   * Sends the message and resolves with the bytes of the whole message that answers it.
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`, `node_nonsense`, …
   */
  exchange(message: RpcMessage, signal: AbortSignal): Promise<Uint8Array>;
  /** Calls `ring` at each new head and each connection made again; never where there is no push. */
  onChange(ring: () => void): void;
  /** By HTTP: what `HttpTransport` says. */
  health: Node['health'];
  close(): Promise<void>;
}>;

/** What both roads are told. `host` names the node in messages; `url` may hold credentials and must not appear in any. */
export type RpcTransportOptions = Readonly<{
  url: URL;
  host: string;
  requestTimeoutMs: number;
  responseBytesMax: number;
  idleMsMax: number;
  concurrencyMax: number;
}>;
